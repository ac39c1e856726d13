/**
 * The runtime in a worker thread. Native calls block the worker, while the thread of the caller stays
 * responsive. A shared flag carries a cancel.
 */

import { Worker } from 'node:worker_threads';
import type { NumericEnvironment } from '../domain/snapshot.ts';
import { NEVER, onAbort } from '../shared/cancellation.ts';
import { C3Error, CancelledError, toErrorMessage } from '../shared/errors.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import { JoinedGenerations } from './joinedGenerations.ts';
import { RUNTIME_CALLS, type ModelRuntime, type RuntimeControl, type RuntimeMethod } from './modelRuntime.ts';
import type { Call, Listeners, ReplyMessage, RequestMessage, WorkerData } from './remoteCalls.ts';
import type { DeviceSettings } from './session/session.ts';

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly listeners: Listeners;
  /** Stops listening for a cancel. */
  readonly release: () => void;
}

/** A runtime that can be ended in the middle of a call. */
export interface EndableRuntime extends ModelRuntime {
  /** True if its thread has ended, so that every call fails. */
  readonly ended: boolean;
  /** Ends the thread at once. All pending calls fail. */
  abandon(): void;
}

/** The methods that only forward their call to the worker. */
type CarriedMethod = Exclude<RuntimeMethod, 'close'>;

/** The side of the caller, without the methods that `remoteRuntime` adds. */
class RuntimeThread {
  readonly environment: NumericEnvironment;
  private readonly worker: Worker;
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;
  private failure: C3Error | undefined;

  constructor(worker: Worker, environment: NumericEnvironment) {
    this.worker = worker;
    this.environment = environment;
    worker.on('message', (message: ReplyMessage) => this.receive(message));
    worker.on('error', (error) => {
      this.fail(
        new C3Error('engine', `The runtime's worker thread failed: ${toErrorMessage(error)}; start again.`, {
          cause: error,
        }),
      );
    });
    worker.on('exit', () => this.fail(new C3Error('engine', "The runtime's worker thread has ended; start again.")));
  }

  get ended(): boolean {
    return this.failure !== undefined;
  }

  abandon(): void {
    this.fail(new C3Error('engine', "The runtime's worker thread was ended; start again."));
    void this.worker.terminate();
  }

  async close(): Promise<void> {
    try {
      if (this.failure === undefined) {
        await this.call({ method: 'close', data: [] });
      }
    } finally {
      await this.worker.terminate();
    }
  }

  /** Sends a call to the worker and resolves with its result. */
  call(call: Call, signal: AbortSignal = NEVER, listeners: Listeners = {}): Promise<unknown> {
    if (this.failure !== undefined) {
      return Promise.reject(this.failure);
    }
    const id = this.nextId++;
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const release = onAbort(signal, () => Atomics.store(flag, 0, 1));
    return new Promise((resolve, reject) => {
      this.worker.postMessage({ id, call, flag } satisfies RequestMessage);
      this.pending.set(id, { resolve, reject, listeners, release });
    });
  }

  private receive(message: ReplyMessage): void {
    if (message.kind === 'ready') {
      return;
    }
    const pending = this.pending.get(message.id);
    if (pending === undefined) {
      return;
    }
    if (message.kind === 'completion') {
      pending.listeners.onCompletion?.(message.index, message.completion);
      return;
    }
    if (message.kind === 'token') {
      pending.listeners.onToken?.(message.index, message.token, message.logprob);
      return;
    }
    if (message.kind === 'loading') {
      pending.listeners.onLoading?.(message.done, message.total);
      return;
    }
    this.release(message.id);
    if (message.kind === 'done') {
      pending.resolve(message.result);
    } else {
      pending.reject(message.cancelled ? new CancelledError() : new C3Error(message.errorKind, message.message));
    }
  }

  private release(id: number): void {
    this.pending.get(id)?.release();
    this.pending.delete(id);
  }

  private fail(error: C3Error): void {
    this.failure ??= error;
    for (const [id, { reject }] of [...this.pending]) {
      this.release(id);
      reject(error);
    }
  }
}

/** Adds the methods of RUNTIME_CALLS to a thread. Each forwards its data to the worker. */
function remoteRuntime(thread: RuntimeThread): EndableRuntime {
  const { close: _, ...carried } = RUNTIME_CALLS;
  const methods = Object.entries(carried).map(([method, { data, then }]) => [
    method,
    (...given: readonly unknown[]) => {
      const { signal, ...listeners } = parseFollowingArguments(then, given.slice(data));
      return thread.call({ method: method as CarriedMethod, data: given.slice(0, data) }, signal, listeners);
    },
  ]);
  // Names and types both come from RUNTIME_CALLS.
  const runtime = Object.assign(thread, Object.fromEntries(methods) as Pick<ModelRuntime, CarriedMethod>);
  const joined = new JoinedGenerations({ generate: runtime.generate });
  return Object.assign(runtime, { generate: joined.generate.bind(joined) });
}

/** Returns the callbacks and the cancel signal of a call from the arguments that follow its data. */
function parseFollowingArguments(
  then: (typeof RUNTIME_CALLS)[RuntimeMethod]['then'],
  [first, second]: readonly unknown[],
): Listeners & { readonly signal?: AbortSignal } {
  switch (then) {
    case 'nothing':
      return {};
    case 'signal':
      return { signal: first as AbortSignal };
    case 'control':
      return first as RuntimeControl;
    case 'loading':
      return { onLoading: first as OnLoadProgress | undefined, signal: (second ?? NEVER) as AbortSignal };
  }
}

/**
 * Starts a worker thread from its entry file and waits until it is ready.
 * @throws C3Error('engine') if it cannot start
 */
export async function startRuntime(entry: URL, device: DeviceSettings): Promise<EndableRuntime> {
  const worker = new Worker(entry, { workerData: { device } satisfies WorkerData });
  const environment = await new Promise<NumericEnvironment>((resolve, reject) => {
    worker.once('message', (message: ReplyMessage) => {
      if (message.kind === 'ready') {
        resolve(message.environment);
      }
    });
    worker.once('error', (error) => {
      reject(
        new C3Error(
          'engine',
          `The runtime's worker thread did not start: ${toErrorMessage(error)}; run \`c3 doctor\`.`,
          { cause: error },
        ),
      );
    });
    worker.once('exit', () =>
      reject(new C3Error('engine', "The runtime's worker thread ended before it served; run `c3 doctor`.")),
    );
  });
  return remoteRuntime(new RuntimeThread(worker, environment));
}
