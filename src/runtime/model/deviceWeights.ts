/** Parameters on the device, so that a snapshot is uploaded once instead of with every call. */

import { DeviceMemory, type DeviceTensors } from '../session/deviceMemory.ts';
import { disposeAll } from '../session/deviceTensor.ts';
import type { DeviceSettings } from '../session/session.ts';
import type { PolicyWeights } from './lora.ts';
import { consecutiveViews, graphParameterViews, viewFeeds, type ModelNumbers, type ParameterView } from './model.ts';
import { adapterSpecs, type TransformerConfig } from './transformer.ts';

/** Number of models that stay: the one in training, the one that samples, and the reference. */
const KEPT_MODELS = 3;
/** Number of adapters that stay. They are small, and each role of a team may have one. */
const KEPT_ADAPTERS = 16;

/** Vectors of one layout on the device. The last used ones stay there. */
class DeviceVectors {
  readonly memory: DeviceMemory;
  private readonly views: readonly ParameterView[];
  private readonly kept: number;
  /** Device copies by their source vector, the least recently used first. */
  private readonly sets = new Map<ModelNumbers, DeviceTensors>();

  constructor(views: readonly ParameterView[], kept: number, device: DeviceSettings) {
    this.views = views;
    this.kept = kept;
    this.memory = new DeviceMemory(device);
  }

  async of(flat: ModelNumbers): Promise<DeviceTensors> {
    const held = this.sets.get(flat) ?? (await this.memory.upload(viewFeeds(this.views, flat)));
    this.put(flat, held);
    return held;
  }

  put(flat: ModelNumbers, held: DeviceTensors): void {
    this.sets.delete(flat);
    this.sets.set(flat, held);
    for (const [oldest, tensors] of this.sets) {
      if (this.sets.size <= this.kept) {
        break;
      }
      this.sets.delete(oldest);
      disposeAll(Object.values(tensors));
    }
  }

  clear(): void {
    for (const held of this.sets.values()) {
      disposeAll(Object.values(held));
    }
    this.sets.clear();
  }

  async release(): Promise<void> {
    this.clear();
    await this.memory.release();
  }
}

/** The weights of one architecture. With adapters, it shares the models of the plain architecture. */
export class DeviceWeights {
  private readonly models: DeviceVectors;
  private readonly adapters: DeviceVectors | undefined;
  private readonly ownsModels: boolean;

  /** @param shared the weights of the architecture without an adapter, released after this object */
  constructor(config: TransformerConfig, device: DeviceSettings, shared?: DeviceWeights) {
    this.models = shared?.models ?? new DeviceVectors(graphParameterViews(config), KEPT_MODELS, device);
    this.ownsModels = shared === undefined;
    this.adapters =
      config.adapter === undefined
        ? undefined
        : new DeviceVectors(consecutiveViews(adapterSpecs(config)), KEPT_ADAPTERS, device);
  }

  get memory(): DeviceMemory {
    return this.models.memory;
  }

  /** Returns all weight inputs of a graph. This object keeps the ownership of the tensors. */
  async of(weights: PolicyWeights): Promise<DeviceTensors> {
    if (!('adapter' in weights)) {
      return this.models.of(weights);
    }
    return { ...(await this.models.of(weights.model)), ...(await this.trained.of(weights.adapter)) };
  }

  /** The store of the trained vectors: the adapters, or the models if there are no adapters. */
  get trained(): Pick<DeviceVectors, 'of' | 'put' | 'clear'> {
    return this.adapters ?? this.models;
  }

  async release(): Promise<void> {
    await this.adapters?.release();
    if (this.ownsModels) {
      await this.models.release();
    }
  }
}
