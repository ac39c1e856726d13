/** Entry of the worker thread that owns the ONNX Runtime sessions. */

import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerData } from '../runtime/remoteCalls.ts';
import { serveRuntime } from '../runtime/serveRuntime.ts';

if (parentPort === null) {
  throw new Error('This file is the entry of a worker thread.');
}
serveRuntime(parentPort, workerData as WorkerData);
