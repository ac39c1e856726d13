/** The messages between a caller and the worker thread that holds the models. */
import type { ErrorKind } from '../shared/errors.ts';
import type { NumericEnvironment } from '../shared/records/records.ts';
import type { Completion } from './generate/generate.ts';
import type { ModelRuntime, RuntimeControl } from './modelRuntime.ts';
import type { DeviceSettings } from './session/session.ts';

type Method = Exclude<keyof ModelRuntime, 'environment'>;
type WithoutControl<Arguments extends readonly unknown[]> = Arguments extends
  [...infer Rest, RuntimeControl] | [...infer Rest, AbortSignal]
  ? Rest
  : Arguments;
type Arguments<Name extends Method> = Name extends 'load'
  ? [folder: string]
  : WithoutControl<Parameters<ModelRuntime[Name]>>;
export type Call = { [Name in Method]: { readonly method: Name; readonly arguments: Arguments<Name> } }[Method];
export type Result = Awaited<ReturnType<ModelRuntime[Method]>>;

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
  | { readonly kind: 'done'; readonly id: number; readonly result: Result }
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
