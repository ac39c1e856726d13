/** The command line without a process of its own: arguments and streams in, an exit code out. */
import { C3Error, CancelledError, messageOf, nearestName } from '../../shared/errors.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { VERSION } from '../version.ts';
import { ownArguments } from './arguments.ts';
import { contextOf, type Command, type Output, type Streams } from './command.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { commandHelp, overview } from './help.ts';

const LONGEST_ERROR = 2000;

/** Columns where the output is no terminal, or does not say how many it has. */
const USUAL_WIDTH = 80;

const widthOf = ({ isTTY, columns }: Output): number => (isTTY === true ? (columns ?? USUAL_WIDTH) : USUAL_WIDTH);

const commandNamed = (name: string): Command | undefined =>
  Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

/** Whether a command is asked to explain itself; what stands behind `--` is not for it. */
const asksHelp = ({ declared }: Command, args: readonly string[]): boolean =>
  ownArguments(declared, args).own.includes('--help');

/** Whether a command may leave something half done, so that Ctrl+C is to abort its signal and not to end it at once. */
export function isCancellable([name = 'help', ...rest]: readonly string[]): boolean {
  const command = commandNamed(name);
  return command !== undefined && !asksHelp(command, rest) && command.declared.onlyReads?.(rest) !== true;
}

/**
 * Does what the arguments ask for. Nothing of it goes on after the end, so that commands may follow each other and work
 * beside each other in one process.
 * @param args without the program's own name
 * @returns the exit code
 */
export async function main(args: readonly string[], streams: Streams): Promise<number> {
  try {
    return await carryOut(args, streams);
  } catch (error) {
    // Nobody is there to read that the work stopped where its reader has left.
    if (!(error instanceof CancelledError && streams.stdout.errored !== null)) {
      streams.stderr.write(
        error instanceof CancelledError
          ? 'Cancelled; what was stored stays.\n'
          : `c3: ${oneLine(messageOf(error), LONGEST_ERROR)}\n`,
      );
    }
    return error instanceof C3Error && error.kind === 'input' ? 2 : 1;
  }
}

async function carryOut([name = 'help', ...rest]: readonly string[], streams: Streams): Promise<number> {
  const { stdout } = streams;
  const [topic] = rest;
  if (name === 'help' || name === '--help' || name === '-h') {
    const width = widthOf(stdout);
    stdout.write(
      `${topic === undefined ? overview(VERSION, GROUPS, width) : commandHelp(commandOf(topic).declared, width)}\n`,
    );
    return 0;
  }
  if (name === '--version') {
    stdout.write(`${VERSION}\n`);
    return 0;
  }
  const command = commandOf(name);
  if (asksHelp(command, rest)) {
    stdout.write(`${commandHelp(command.declared, widthOf(stdout))}\n`);
    return 0;
  }
  let code = 0;
  const context = contextOf(name, streams, () => {
    code = 1;
  });
  try {
    await command.run(rest, context);
  } finally {
    context.endProgress();
  }
  return code;
}

/** @throws C3Error('input') for a name that no command has; it says the nearest one */
function commandOf(name: string): Command {
  const command = commandNamed(name);
  if (command === undefined) {
    const nearest = nearestName(name, [...Object.keys(COMMANDS), 'help']);
    throw new C3Error(
      'input',
      `c3 has no command ${JSON.stringify(name.slice(0, 40))}; ` +
        (nearest === undefined ? 'see `c3 help`' : `did you mean ${nearest}?`),
    );
  }
  return command;
}
