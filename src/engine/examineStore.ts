/**
 * Entry of the process that examines a store: `examineStore PATH pages|sampled|all`. It sends the
 * findings to the parent as one message. A worker thread examines, because a damaged store can make
 * the examination endless: the main thread then still notices that the parent is gone, and ends the
 * process.
 */

import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { examinePagesOnly, examineStore } from '../store/repair/examine.ts';

const [path, extent] = process.argv.slice(2);
if (path === undefined || extent === undefined) {
  throw new Error('This file is the entry of a process that examines a store.');
}
if (isMainThread) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  new Worker(fileURLToPath(import.meta.url), { argv: [path, extent] }).once('message', (found: unknown) =>
    process.send?.(found),
  );
} else {
  parentPort?.postMessage(extent === 'pages' ? examinePagesOnly(path) : examineStore(path, extent === 'all'));
}
