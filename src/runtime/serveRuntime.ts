/** The worker thread's side of the runtime: it answers calls in order, on models of its own. */
import type { MessagePort } from 'node:worker_threads';
import type { AbortFlag } from '../shared/cancellation.ts';
import { C3Error, CancelledError, messageOf } from '../shared/errors.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import type { Completion, GenerationControl } from './generate/generate.ts';
import { ModelHost } from './host.ts';
import type { Call, ReplyMessage, RequestMessage, Result, WorkerData } from './remoteCalls.ts';

/** The worker's side: answers calls in order, on a host of its own. */
export function serveRuntime(port: MessagePort, { device }: WorkerData): void {
  const host = new ModelHost(device);
  const send = (message: ReplyMessage): void => {
    port.postMessage(message);
  };
  let queue = Promise.resolve();
  port.on('message', ({ id, call, flag }: RequestMessage) => {
    // A flag and no message: native calls block this thread's event loop.
    const signal: AbortFlag = {
      get aborted() {
        return Atomics.load(flag, 0) !== 0;
      },
    };
    const onCompletion = (index: number, completion: Completion): void => {
      send({ kind: 'completion', id, index, completion });
    };
    const onToken = (index: number, token: number, logprob: number): void => {
      send({ kind: 'token', id, index, token, logprob });
    };
    const onLoading: OnLoadProgress = (done, total) => {
      send({ kind: 'loading', id, done, total });
    };
    queue = queue.then(async () => {
      try {
        if (signal.aborted) {
          throw new CancelledError();
        }
        const control = { signal, onCompletion, onToken, onLoading };
        send({ kind: 'done', id, result: await perform(host, call, control) });
      } catch (error) {
        const errorKind = error instanceof C3Error ? error.kind : 'engine';
        send({ kind: 'failed', id, cancelled: error instanceof CancelledError, errorKind, message: messageOf(error) });
      }
    });
  });
  send({ kind: 'ready', environment: host.environment });
}

interface Control extends Required<GenerationControl> {
  readonly onLoading: OnLoadProgress;
}

async function perform(host: ModelHost, call: Call, control: Control): Promise<Result> {
  switch (call.method) {
    case 'generate':
      return host.generate(...call.arguments, control);
    case 'score':
      return host.score(...call.arguments, control.signal);
    case 'divergence':
      return host.divergence(...call.arguments, control.signal);
    case 'rankShift':
      return host.rankShift(...call.arguments, control.signal);
    case 'step':
      return host.step(...call.arguments, control.signal);
    case 'values':
      return host.values(...call.arguments, control.signal);
    case 'valuesUnder':
      return host.valuesUnder(...call.arguments, control.signal);
    case 'learnValues':
      return host.learnValues(...call.arguments, control.signal);
    case 'load':
      return host.load(...call.arguments, control.onLoading, control.signal);
    case 'loadSnapshot':
      return host.loadSnapshot(...call.arguments);
    case 'snapshots':
      return host.snapshots();
    case 'beginTraining':
      return host.beginTraining(...call.arguments);
    case 'keepTraining':
      return host.keepTraining();
    case 'revertTraining':
      return host.revertTraining(...call.arguments);
    case 'freeze':
      return host.freeze();
    case 'saveCheckpoint':
      return host.saveCheckpoint(...call.arguments);
    case 'loadCheckpoint':
      return host.loadCheckpoint(...call.arguments);
    case 'saveSnapshot':
      return host.saveSnapshot(...call.arguments);
    case 'saveValueHead':
      return host.saveValueHead(...call.arguments);
    case 'hasAdapter':
      return host.hasAdapter(...call.arguments);
    case 'saveAdapter':
      return host.saveAdapter(...call.arguments);
    case 'loadAdapter':
      return host.loadAdapter(...call.arguments);
    case 'releaseSnapshot':
      return host.releaseSnapshot(...call.arguments);
    case 'close':
      return host.close();
  }
}
