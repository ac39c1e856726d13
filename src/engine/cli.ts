/** The command line `c3`: the engine without the editor. */
import { resolve } from 'node:path';
import { C3Error, CancelledError, messageOf, nearestName } from '../shared/errors.ts';
import { oneLine } from '../shared/text/oneLine.ts';
import { COMMANDS } from './commandLine/commands.ts';
import { VERSION } from './version.ts';

const LONGEST_ERROR = 2000;

const HELP = `c3 ${VERSION}: run and train teams of language-model agents, and replay any message for credit

${Object.values(COMMANDS)
  .map(({ usage, summary }) => `  ${usage.padEnd(96)}${summary}`)
  .join('\n')}

Every command that touches a store takes --store PATH (default .c3/c3.sqlite). --json prints one JSON document.
Exit codes: 0 done, 1 the work failed (of grade: some lines are masked), 2 the arguments or input are wrong.
`;

async function main(args: readonly string[]): Promise<void> {
  const [name = 'help', ...rest] = args;
  if (name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(HELP);
    return;
  }
  if (name === '--version') {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS));
    throw new C3Error(
      'input',
      `c3 has no command ${JSON.stringify(name.slice(0, 40))}; ${nearest === undefined ? 'see `c3 help`' : `did you mean ${nearest}?`}`,
    );
  }
  if (rest.includes('--help')) {
    process.stdout.write(`${command.usage}\n  ${command.summary}\n`);
    return;
  }
  const controller = new AbortController();
  // A reader that has left, such as `head`, wants no more: the work stops as after Ctrl+C.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    controller.abort();
    if (error.code === 'EPIPE') {
      return;
    }
    process.stderr.write(`c3: The standard output cannot be written: ${error.message}\n`);
    process.exitCode = 1;
  });
  if (command.onlyReads?.(rest) !== true) {
    process.on('SIGINT', () => {
      if (controller.signal.aborted) {
        process.exit(130);
      }
      controller.abort();
    });
  }
  await command.run(rest, { folder: resolve('.'), signal: controller.signal });
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  // Nobody is there to read that the work stopped where its reader has left.
  if (!(error instanceof CancelledError && process.stdout.errored !== null)) {
    process.stderr.write(
      error instanceof CancelledError
        ? 'Cancelled; what was stored stays.\n'
        : `c3: ${oneLine(messageOf(error), LONGEST_ERROR)}\n`,
    );
  }
  process.exitCode = error instanceof C3Error && error.kind === 'input' ? 2 : 1;
}
