/** Sets of parameters on the device, so that a snapshot is uploaded once and not with every call. */
import { disposeAll } from './deviceTensor.ts';
import { DeviceMemory, type Held } from './deviceMemory.ts';
import { graphParameterViews, viewFeeds, type ParameterView } from './model.ts';
import type { DeviceSettings } from './session.ts';
import type { TransformerConfig } from './transformer.ts';

/** Sets that stay: the one being trained, the one that samples, and the reference. */
const KEPT = 3;

export class DeviceWeights {
  readonly memory: DeviceMemory;
  private readonly views: readonly ParameterView[];
  /** By the vector that they are a copy of, the longest unused first. */
  private readonly sets = new Map<Float32Array, Held>();

  /** @param views the layout of the vectors: the whole model's, unless only a part of it is kept here */
  constructor(config: TransformerConfig, device: DeviceSettings, views: readonly ParameterView[] = graphParameterViews(config)) {
    this.views = views;
    this.memory = new DeviceMemory(device);
  }

  /** The parameters by name. They stay this object's, and the last few sets asked for stay on the device. @param flat never changed again */
  async of(flat: Float32Array): Promise<Held> {
    const held = this.sets.get(flat) ?? (await this.memory.upload(viewFeeds(this.views, flat)));
    this.put(flat, held);
    return held;
  }

  /** Takes over parameters that are on the device already. */
  put(flat: Float32Array, held: Held): void {
    this.sets.delete(flat);
    this.sets.set(flat, held);
    for (const [oldest, tensors] of this.sets) {
      if (this.sets.size <= KEPT) break;
      this.sets.delete(oldest);
      disposeAll(Object.values(tensors));
    }
  }

  /** Takes all sets off the device; they are uploaded again when they are asked for. */
  clear(): void {
    for (const held of this.sets.values()) disposeAll(Object.values(held));
    this.sets.clear();
  }

  async release(): Promise<void> {
    this.clear();
    await this.memory.release();
  }
}
