/** What a method carries from one training step to the next: plain data, so that it can be stored. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface StateTensor {
  readonly shape: readonly number[];
  /** Row by row; as many numbers as the shape says. */
  readonly data: Float32Array;
}

export interface MethodState {
  /** Numbers are finite. */
  readonly json: Json;
  readonly tensors: Readonly<Record<string, StateTensor>>;
}

/** A state as it is stored, with the kind of state that it is. */
export interface StoredMethodState extends MethodState {
  readonly name: string;
  readonly version: number;
}
