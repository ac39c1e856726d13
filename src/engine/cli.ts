/**
 * The command line `c3`, the engine without the editor: what it does, bound to this process. On a Node that is too old,
 * the one that came along does it.
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeAbandoned } from '../files/temporaryFolder.ts';
import { isNewEnough, nodeThatCame, tooOldWords } from './ownNode.ts';

const args = process.argv.slice(2);

/** Does the work in this process. Nothing of it is loaded before its Node is known to be new enough. */
async function work(): Promise<void> {
  const { isCancellable, main } = await import('./commandLine/main.ts');
  removeAbandoned();
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
}

/** Does it in a process of another Node, which gets what this one is sent. */
function workOn(node: string): void {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...args], { stdio: 'inherit' });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      // Ctrl+C in a terminal signals both processes.
      if (name !== 'SIGINT') {
        child.kill(name);
      }
    });
  }
  child.once('error', ({ message }) => {
    process.stderr.write(`${tooOldWords(process.versions.node)} The one that came along does not start: ${message}\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

const { node: version } = process.versions;
const other = isNewEnough(version) ? null : nodeThatCame(import.meta.url);
if (isNewEnough(version)) {
  await work();
} else if (other === null) {
  process.stderr.write(`${tooOldWords(version)}\n`);
  process.exitCode = 1;
} else {
  workOn(other);
}
