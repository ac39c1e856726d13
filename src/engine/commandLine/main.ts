/** The command line as a function: takes arguments and streams, and returns an exit code. */

import { C3Error, CancelledError, toErrorMessage, findNearestName } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { VERSION } from '../version.ts';
import { splitAtDashes } from './arguments.ts';
import { createCommandContext, type Command, type Output, type Streams } from './command.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { formatCommandHelp, formatOverview } from './help.ts';

const LONGEST_ERROR = 2000;

/** Columns of an output that is not a terminal or does not report its width. */
const USUAL_WIDTH = 80;

const findWidth = ({ isTTY, columns }: Output): number => (isTTY === true ? (columns ?? USUAL_WIDTH) : USUAL_WIDTH);

const findCommand = (name: string): Command | undefined => (Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined);

/** Returns true if a command is asked for its help; arguments after `--` do not count. */
const isHelpRequested = ({ declared }: Command, args: readonly string[]): boolean =>
  splitAtDashes(declared, args).own.includes('--help');

/** Returns true if Ctrl+C must abort the command's signal, because ending it could leave work half done. */
export function isCancellable([name = 'help', ...rest]: readonly string[]): boolean {
  const command = findCommand(name);
  return command !== undefined && !isHelpRequested(command, rest) && command.declared.onlyReads?.(rest) !== true;
}

/**
 * Runs the command that the arguments name. No work continues after the end, so commands can run one
 * after another, or in parallel, in one process.
 * @param args without the program's own name
 * @returns the exit code
 */
export async function main(args: readonly string[], streams: Streams): Promise<number> {
  try {
    return await runCommandLine(args, streams);
  } catch (error) {
    // If the reader of the output has left, nobody reads that the work was cancelled.
    if (!(error instanceof CancelledError && streams.stdout.errored !== null)) {
      streams.stderr.write(
        error instanceof CancelledError
          ? 'Cancelled; what was stored stays.\n'
          : `c3: ${toOneLine(toErrorMessage(error), LONGEST_ERROR)}\n`,
      );
    }
    return error instanceof C3Error && error.kind === 'input' ? 2 : 1;
  }
}

async function runCommandLine([name = 'help', ...rest]: readonly string[], streams: Streams): Promise<number> {
  const { stdout } = streams;
  const [topic] = rest;
  if (name === 'help' || name === '--help' || name === '-h') {
    const width = findWidth(stdout);
    stdout.write(
      `${topic === undefined ? formatOverview(VERSION, GROUPS, width) : formatCommandHelp(requireCommand(topic).declared, width)}\n`,
    );
    return 0;
  }
  if (name === '--version') {
    stdout.write(`${VERSION}\n`);
    return 0;
  }
  const command = requireCommand(name);
  if (isHelpRequested(command, rest)) {
    stdout.write(`${formatCommandHelp(command.declared, findWidth(stdout))}\n`);
    return 0;
  }
  let code = 0;
  const context = createCommandContext(name, streams, () => {
    code = 1;
  });
  try {
    await command.run(rest, context);
  } finally {
    context.endProgress();
  }
  return code;
}

/** @throws C3Error('input') for an unknown command, naming the nearest one */
function requireCommand(name: string): Command {
  const command = findCommand(name);
  if (command === undefined) {
    const nearest = findNearestName(name, [...Object.keys(COMMANDS), 'help']);
    throw new C3Error(
      'input',
      `c3 has no command ${JSON.stringify(name.slice(0, 40))}; ` +
        (nearest === undefined ? 'see `c3 help`' : `did you mean ${nearest}?`),
    );
  }
  return command;
}
