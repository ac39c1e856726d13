/**
 * The runtime in a worker thread: native calls block the worker, the caller's thread stays responsive, a cancel is a
 * shared flag.
 */
import { Worker } from 'node:worker_threads';
import { NEVER, onAbort } from '../shared/cancellation.ts';
import { C3Error, CancelledError, messageOf } from '../shared/errors.ts';
import type { RankShift } from '../shared/records/rankShift.ts';
import type { NumericEnvironment } from '../shared/records/records.ts';
import type { Completion, GenerationControl, GenerationRequest } from './generate/generate.ts';
import type { AdapterStart, ModelInfo, ModelRuntime, RuntimeControl } from './modelRuntime.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import type { TrainingContext } from './train/graph/pack.ts';
import type { DeviceSettings } from './session/session.ts';
import type { StepReport } from './train/stepReport.ts';
import type { StepSettings } from './train/trainingState.ts';
import type { ValueExample, ValueReport, ValueSettings, ValueState } from './train/valueHead.ts';
import type { Call, ReplyMessage, RequestMessage, Result, WorkerData } from './remoteCalls.ts';

/** Who hears of a call before its end. */
interface Listeners {
  readonly onCompletion?: GenerationControl['onCompletion'];
  readonly onToken?: GenerationControl['onToken'];
  readonly onLoading?: OnLoadProgress | undefined;
}

interface Pending {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  readonly listeners: Listeners;
  /** Stops listening for a cancel. */
  readonly release: () => void;
}

/** A runtime that can be given up in the middle of what it does. */
export interface EndableRuntime extends ModelRuntime {
  /** Ends the thread at once; whatever was asked of it fails. */
  abandon(): void;
}

/** The caller's side. */
class RemoteRuntime implements EndableRuntime {
  readonly environment: NumericEnvironment;
  private readonly worker: Worker;
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;
  private failure: C3Error | undefined;

  constructor(worker: Worker, environment: NumericEnvironment) {
    this.worker = worker;
    this.environment = environment;
    worker.on('message', (message: ReplyMessage) => {
      this.receive(message);
    });
    worker.on('error', (error) => {
      this.fail(
        new C3Error('engine', `The runtime's worker thread failed: ${messageOf(error)}; start again.`, {
          cause: error,
        }),
      );
    });
    worker.on('exit', () => {
      this.fail(new C3Error('engine', "The runtime's worker thread has ended; start again."));
    });
  }

  load(folder: string, onLoading?: OnLoadProgress, signal?: AbortSignal): Promise<ModelInfo> {
    return this.call<ModelInfo>({ method: 'load', arguments: [folder] }, signal, { onLoading });
  }

  loadSnapshot(path: string): Promise<string> {
    return this.call<string>({ method: 'loadSnapshot', arguments: [path] });
  }

  snapshots(): Promise<readonly string[]> {
    return this.call<readonly string[]>({ method: 'snapshots', arguments: [] });
  }

  generate(snapshot: string, requests: readonly GenerationRequest[], control: RuntimeControl): Promise<Completion[]> {
    return this.call<Completion[]>({ method: 'generate', arguments: [snapshot, requests] }, control.signal, control);
  }

  score(
    snapshot: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<Float32Array[][]> {
    return this.call<Float32Array[][]>({ method: 'score', arguments: [snapshot, contexts, temperature] }, signal);
  }

  divergence(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<Float32Array[][]> {
    return this.call<Float32Array[][]>(
      { method: 'divergence', arguments: [snapshot, other, contexts, temperature] },
      signal,
    );
  }

  rankShift(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<RankShift> {
    return this.call<RankShift>({ method: 'rankShift', arguments: [snapshot, other, contexts, temperature] }, signal);
  }

  beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void> {
    return this.call<undefined>({
      method: 'beginTraining',
      arguments: adapter === undefined ? [snapshot] : [snapshot, adapter],
    });
  }

  step(contexts: readonly TrainingContext[], settings: StepSettings, signal: AbortSignal): Promise<StepReport> {
    return this.call<StepReport>({ method: 'step', arguments: [contexts, settings] }, signal);
  }

  values(states: readonly ValueState[], signal: AbortSignal): Promise<number[]> {
    return this.call<number[]>({ method: 'values', arguments: [states] }, signal);
  }

  valuesUnder(
    snapshot: string,
    head: string | null,
    states: readonly ValueState[],
    signal: AbortSignal,
  ): Promise<number[]> {
    return this.call<number[]>({ method: 'valuesUnder', arguments: [snapshot, head, states] }, signal);
  }

  learnValues(
    states: readonly ValueState[],
    examples: readonly ValueExample[],
    settings: ValueSettings,
    signal: AbortSignal,
  ): Promise<ValueReport> {
    return this.call<ValueReport>({ method: 'learnValues', arguments: [states, examples, settings] }, signal);
  }

  keepTraining(): Promise<void> {
    return this.call<undefined>({ method: 'keepTraining', arguments: [] });
  }

  revertTraining(share: number): Promise<void> {
    return this.call<undefined>({ method: 'revertTraining', arguments: [share] });
  }

  freeze(): Promise<string> {
    return this.call<string>({ method: 'freeze', arguments: [] });
  }

  saveCheckpoint(path: string): Promise<void> {
    return this.call<undefined>({ method: 'saveCheckpoint', arguments: [path] });
  }

  loadCheckpoint(path: string): Promise<string> {
    return this.call<string>({ method: 'loadCheckpoint', arguments: [path] });
  }

  saveSnapshot(snapshot: string, path: string): Promise<void> {
    return this.call<undefined>({ method: 'saveSnapshot', arguments: [snapshot, path] });
  }

  saveValueHead(snapshot: string, path: string): Promise<void> {
    return this.call<undefined>({ method: 'saveValueHead', arguments: [snapshot, path] });
  }

  hasAdapter(snapshot: string): Promise<boolean> {
    return this.call<boolean>({ method: 'hasAdapter', arguments: [snapshot] });
  }

  saveAdapter(snapshot: string, folder: string, baseModel: string | null): Promise<readonly string[]> {
    return this.call<readonly string[]>({ method: 'saveAdapter', arguments: [snapshot, folder, baseModel] });
  }

  loadAdapter(folder: string, base: string): Promise<string> {
    return this.call<string>({ method: 'loadAdapter', arguments: [folder, base] });
  }

  releaseSnapshot(snapshot: string): Promise<void> {
    return this.call<undefined>({ method: 'releaseSnapshot', arguments: [snapshot] });
  }

  abandon(): void {
    this.fail(new C3Error('engine', "The runtime's worker thread was ended; start again."));
    void this.worker.terminate();
  }

  async close(): Promise<void> {
    try {
      if (this.failure === undefined) {
        await this.call<undefined>({ method: 'close', arguments: [] });
      }
    } finally {
      await this.worker.terminate();
    }
  }

  /** The worker answers a method with that method's result: the one place where its type is taken on trust. */
  private call<Answer extends Result | undefined>(
    call: Call,
    signal: AbortSignal = NEVER,
    listeners: Listeners = {},
  ): Promise<Answer> {
    if (this.failure !== undefined) {
      return Promise.reject(this.failure);
    }
    const id = this.nextId++;
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const release = onAbort(signal, () => {
      Atomics.store(flag, 0, 1);
    });
    return new Promise<Answer>((resolve, reject) => {
      this.worker.postMessage({ id, call, flag } satisfies RequestMessage);
      this.pending.set(id, {
        resolve: (result) => {
          resolve(result as Answer);
        },
        reject,
        listeners,
        release,
      });
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
    this.settle(message.id);
    if (message.kind === 'done') {
      pending.resolve(message.result);
    } else {
      pending.reject(message.cancelled ? new CancelledError() : new C3Error(message.errorKind, message.message));
    }
  }

  private settle(id: number): void {
    this.pending.get(id)?.release();
    this.pending.delete(id);
  }

  private fail(error: C3Error): void {
    this.failure ??= error;
    for (const [id, { reject }] of [...this.pending]) {
      this.settle(id);
      reject(error);
    }
  }
}

/**
 * Starts a worker thread from its entry file and waits until it serves.
 * @throws C3Error('engine') when it cannot start
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
        new C3Error('engine', `The runtime's worker thread did not start: ${messageOf(error)}; run \`c3 doctor\`.`, {
          cause: error,
        }),
      );
    });
    worker.once('exit', () => {
      reject(new C3Error('engine', "The runtime's worker thread ended before it served; run `c3 doctor`."));
    });
  });
  return new RemoteRuntime(worker, environment);
}
