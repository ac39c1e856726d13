/** The messages between a caller and the worker thread that holds the models. */

import type { NumericEnvironment } from '../domain/snapshot.ts';
import type { ErrorKind } from '../shared/errors.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import type { Completion, GenerationControl } from './generate/generate.ts';
import type { RuntimeMethod } from './modelRuntime.ts';
import type { DeviceSettings } from './session/session.ts';

/** A call without the callbacks and signals that follow its data. */
export interface Call {
  readonly method: RuntimeMethod;
  readonly data: readonly unknown[];
}

export interface Listeners extends Pick<GenerationControl, 'onCompletion' | 'onToken'> {
  readonly onLoading?: OnLoadProgress | undefined;
}

export interface RequestMessage {
  readonly id: number;
  readonly call: Call;
  readonly flag: Int32Array<SharedArrayBuffer>;
}

export type ReplyMessage =
  | { readonly kind: 'ready'; readonly environment: NumericEnvironment }
  | { readonly kind: 'loading'; readonly id: number; readonly done: number; readonly total: number }
  | { readonly kind: 'completion'; readonly id: number; readonly index: number; readonly completion: Completion }
  | {
      readonly kind: 'token';
      readonly id: number;
      readonly index: number;
      readonly token: number;
      readonly logprob: number;
    }
  | { readonly kind: 'done'; readonly id: number; readonly result: unknown }
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly cancelled: boolean;
      readonly errorKind: ErrorKind;
      readonly message: string;
    };

export interface WorkerData {
  readonly device: DeviceSettings;
}
