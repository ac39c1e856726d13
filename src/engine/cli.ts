/** The command line `c3`, the engine without the editor: what it does, bound to this process. */
import { resolve } from 'node:path';
import { removeAbandoned } from '../files/temporaryFolder.ts';
import { isCancellable, main } from './commandLine/main.ts';

removeAbandoned();
const args = process.argv.slice(2);
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
// Remarks to a terminal that was closed are lost, and nothing else.
process.stderr.on('error', () => undefined);
if (isCancellable(args)) {
  // The recorded program ends with this process: on Ctrl+C, on SIGTERM, and when the terminal closes.
  for (const name of args[0] === 'record' ? (['SIGINT', 'SIGTERM', 'SIGHUP'] as const) : (['SIGINT'] as const)) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        process.exit(130);
      }
      controller.abort();
    });
  }
}
const code = await main(args, {
  // Opened by those that read it.
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  areInherited: true,
  folder: resolve('.'),
  env: process.env,
  signal: controller.signal,
});
if (code !== 0) {
  process.exitCode = code;
}
