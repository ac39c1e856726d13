/**
 * Entry of the process that reads the checkpoints of a LangGraph database: `readCheckpoints DATABASE
 * OUT`. It writes a line of JSON for each thread into a new file, and sends the counts of what was
 * left out to the parent. A worker thread reads, because a damaged database can make the reading
 * endless: the main thread then still notices that the parent is gone, and ends the process.
 */

import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, SHARE_ENV, Worker } from 'node:worker_threads';
import { toErrorMessage } from '../shared/errors.ts';
import { writeThreads } from './checkpointThreads.ts';

const [path, out] = process.argv.slice(2);
if (path === undefined || out === undefined) {
  throw new Error('This file is the entry of a process that reads checkpoints.');
}
if (isMainThread) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // SQLite reads the variable that allows file URIs from the environment of the process itself.
  new Worker(fileURLToPath(import.meta.url), { argv: [path, out], env: SHARE_ENV }).once('message', (said: unknown) =>
    process.send?.(said),
  );
} else {
  parentPort?.postMessage(writeThreadsAndReport(path, out));
}

function writeThreadsAndReport(database: string, to: string): { error: string } | { leftOut: Record<string, number> } {
  try {
    return { leftOut: Object.fromEntries(writeThreads(database, to)) };
  } catch (error) {
    return { error: toErrorMessage(error) };
  }
}
