/**
 * Entry of the command line `c3`. If this process runs on a Node that is too old, the command runs on
 * the Node that is installed with the product.
 */

import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeAbandoned } from '../files/temporaryFolder.ts';
import { isNewEnough, findInstalledNode, describeOldNode } from './ownNode.ts';

const args = process.argv.slice(2);

/** Runs the command in this process. The modules are loaded here, after the check of the Node version. */
async function runInThisProcess(): Promise<void> {
  const { isCancellable, main } = await import('./commandLine/main.ts');
  removeAbandoned();
  const controller = new AbortController();
  // When the reader of the output has ended, such as `head`, the work stops as after Ctrl+C.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    controller.abort();
    if (error.code === 'EPIPE') {
      return;
    }
    process.stderr.write(`c3: The standard output cannot be written: ${error.message}\n`);
    process.exitCode = 1;
  });
  // Remarks to a terminal that was closed are dropped.
  process.stderr.on('error', () => undefined);
  if (isCancellable(args)) {
    // The recorded program ends together with this process: on Ctrl+C, on SIGTERM, and when the
    // terminal closes.
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
    // A getter, so that only commands that read the standard input open it.
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

/** Runs the command in a process of another Node, and forwards signals to it. */
function runOnNode(node: string): void {
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
    process.stderr.write(
      `${describeOldNode(process.versions.node)} The Node that is installed with c3 does not start: ${message}\n`,
    );
    process.exitCode = 1;
  });
  child.once('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

const { node: version } = process.versions;
const other = isNewEnough(version) ? null : findInstalledNode(import.meta.url);
if (isNewEnough(version)) {
  await runInThisProcess();
} else if (other === null) {
  process.stderr.write(`${describeOldNode(version)}\n`);
  process.exitCode = 1;
} else {
  runOnNode(other);
}
