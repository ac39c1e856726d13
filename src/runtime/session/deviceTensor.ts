/**
 * A tensor that stays where the graphs compute. ONNX Runtime frees the memory of an accelerator only when asked
 * to, never by garbage collection; so whoever gets a device tensor disposes of it, and every one that is held is
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

/** What this thread holds at the moment. */
const held = { tensors: 0, bytes: 0 };

/**
 * Device tensors of this thread that were not disposed of, and their bytes. Those of the CPU provider count alike, so
 * that its tests find leaks.
 */
export const heldOnDevice = (): { readonly tensors: number; readonly bytes: number } => ({ ...held });

/** How many tensors of one origin are held. */
export interface Origin {
  alive: number;
}

export class DeviceTensor {
  readonly dims: readonly number[];
  readonly bytes: number;
  private held: Tensor | undefined;
  private readonly origin: Origin | undefined;

  /** Takes over a tensor of any location. @param origin counts it while it is held */
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

  /** The tensor, for feeding a graph. @throws Error after dispose */
  get tensor(): Tensor {
    if (this.held === undefined) {
      throw new Error('A device tensor was used after it had been disposed of.');
    }
    return this.held;
  }

  /** Gives the memory back; a second call does nothing. */
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

/** Disposes of all of them. */
export function disposeAll(tensors: Iterable<DeviceTensor>): void {
  for (const tensor of tensors) {
    tensor.dispose();
  }
}
