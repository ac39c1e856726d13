/**
 * A tensor that stays on the device. ONNX Runtime never frees the memory of an accelerator by
 * garbage collection, so the owner of a device tensor disposes of it, and all tensors in use are
 * counted.
 */

import type { Tensor } from 'onnxruntime-node';

const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  float32: 4,
  float16: 2,
  int32: 4,
  int64: 8,
  bool: 1,
  float64: 8,
};

/** The device tensors of this thread that are in use. */
const held = { tensors: 0, bytes: 0 };

/**
 * Returns the number and bytes of the device tensors of this thread that were not disposed of. Those
 * of the CPU provider count too, so that its tests find leaks.
 */
export const countDeviceTensors = (): { readonly tensors: number; readonly bytes: number } => ({ ...held });

/** A counter of the tensors of one origin that are in use. */
export interface Origin {
  alive: number;
}

export class DeviceTensor {
  readonly dims: readonly number[];
  readonly bytes: number;
  private held: Tensor | undefined;
  private readonly origin: Origin | undefined;

  /**
   * Takes ownership of a tensor in any location.
   * @param origin counts the tensor while it is in use
   */
  constructor(tensor: Tensor, origin?: Origin) {
    this.held = tensor;
    this.origin = origin;
    if (origin !== undefined) {
      origin.alive++;
    }
    this.dims = tensor.dims;
    this.bytes = tensor.dims.reduce((product, dim) => product * dim, ELEMENT_BYTES[tensor.type] ?? 0);
    held.tensors++;
    held.bytes += this.bytes;
  }

  /**
   * The tensor as an input of a graph.
   * @throws Error after dispose
   */
  get tensor(): Tensor {
    if (this.held === undefined) {
      throw new Error('A device tensor was used after it had been disposed of.');
    }
    return this.held;
  }

  /** Frees the memory. A second call does nothing. */
  dispose(): void {
    const tensor = this.held;
    if (tensor === undefined) {
      return;
    }
    this.held = undefined;
    held.tensors--;
    held.bytes -= this.bytes;
    if (this.origin !== undefined) {
      this.origin.alive--;
    }
    if (tensor.location === 'gpu-buffer') {
      tensor.dispose();
    }
  }
}

export function disposeAll(tensors: Iterable<DeviceTensor>): void {
  for (const tensor of tensors) {
    tensor.dispose();
  }
}
