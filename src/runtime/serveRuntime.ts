/** The runtime on the side of the worker thread. */

import type { MessagePort } from 'node:worker_threads';
import type { AbortFlag } from '../shared/cancellation.ts';
import { C3Error, CancelledError, toErrorMessage } from '../shared/errors.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import type { Completion, GenerationControl } from './generate/generate.ts';
import { ModelHost } from './host.ts';
import { RUNTIME_CALLS } from './modelRuntime.ts';
import type { Call, Listeners, ReplyMessage, RequestMessage, WorkerData } from './remoteCalls.ts';

/** Answers calls in order, on a ModelHost of its own. */
export function serveRuntime(port: MessagePort, { device }: WorkerData): void {
  const host = new ModelHost(device);
  const send = (message: ReplyMessage): void => port.postMessage(message);
  let queue = Promise.resolve();
  port.on('message', ({ id, call, flag }: RequestMessage) => {
    // Cancel is a flag and not a message, because native calls block the event loop of this thread.
    const signal: AbortFlag = {
      get aborted() {
        return Atomics.load(flag, 0) !== 0;
      },
    };
    const onCompletion = (index: number, completion: Completion): void =>
      send({ kind: 'completion', id, index, completion });
    const onToken = (index: number, token: number, logprob: number): void =>
      send({ kind: 'token', id, index, token, logprob });
    const onLoading: OnLoadProgress = (done, total) => send({ kind: 'loading', id, done, total });
    queue = queue.then(async () => {
      try {
        if (signal.aborted) {
          throw new CancelledError();
        }
        const control = { signal, onCompletion, onToken, onLoading };
        send({ kind: 'done', id, result: await perform(host, call, control) });
      } catch (error) {
        const errorKind = error instanceof C3Error ? error.kind : 'engine';
        send({
          kind: 'failed',
          id,
          cancelled: error instanceof CancelledError,
          errorKind,
          message: toErrorMessage(error),
        });
      }
    });
  });
  send({ kind: 'ready', environment: host.environment });
}

type Control = Required<GenerationControl & Pick<Listeners, 'onLoading'>>;

function perform(host: ModelHost, { method, data }: Call, control: Control): Promise<unknown> {
  const { signal, onLoading } = control;
  const follows = { nothing: [], signal: [signal], control: [control], loading: [onLoading, signal] };
  // Both sides follow RUNTIME_CALLS, which is checked against the interface of the host.
  const handle: (...all: readonly unknown[]) => Promise<unknown> = host[method] as never;
  return handle.call(host, ...data, ...follows[RUNTIME_CALLS[method].then]);
}
