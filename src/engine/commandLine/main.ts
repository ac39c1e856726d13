/** The command line without a process of its own: arguments and streams in, an exit code out. */
import { C3Error, CancelledError, messageOf, nearestName } from '../../shared/errors.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { VERSION } from '../version.ts';
import { COMMANDS } from './commands.ts';
import { contextOf, type Command, type Streams } from './command.ts';

const LONGEST_ERROR = 2000;

const HELP = `c3 ${VERSION}: run and train teams of language-model agents, and replay any message for credit

${Object.values(COMMANDS)
  .map(({ usage, summary }) => `  ${usage.padEnd(96)}${summary}`)
  .join('\n')}

Every command that touches a store takes --store PATH (default .c3/c3.sqlite). --json prints one JSON document.
Exit codes: 0 done, 1 the work failed (of grade: some lines are masked), 2 the arguments or input are wrong.
`;

const commandNamed = (name: string): Command | undefined =>
  Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

/** Whether a command may leave something half done, so that Ctrl+C is to abort its signal and not to end it at once. */
export function isCancellable([name = 'help', ...rest]: readonly string[]): boolean {
  const command = commandNamed(name);
  return command !== undefined && !rest.includes('--help') && command.onlyReads?.(rest) !== true;
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
  if (name === 'help' || name === '--help' || name === '-h') {
    streams.stdout.write(HELP);
    return 0;
  }
  if (name === '--version') {
    streams.stdout.write(`${VERSION}\n`);
    return 0;
  }
  const command = commandNamed(name);
  if (command === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS));
    throw new C3Error(
      'input',
      `c3 has no command ${JSON.stringify(name.slice(0, 40))}; ${nearest === undefined ? 'see `c3 help`' : `did you mean ${nearest}?`}`,
    );
  }
  if (rest.includes('--help')) {
    streams.stdout.write(`${command.usage}\n  ${command.summary}\n`);
    return 0;
  }
  let code = 0;
  const context = contextOf(name, streams, () => {
    code = 1;
  });
  await command.run(rest, context);
  return code;
}
