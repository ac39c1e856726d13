/**
 * The compiled graphs of one architecture: those of the plain model, and those of the model under the
 * adapter settings that were requested last.
 */

import { C3Error, toErrorMessage } from '../shared/errors.ts';
import { Generator } from './generate/generate.ts';
import { CacheMemory } from './generate/keyValueCache.ts';
import { Graph } from './graph/graph.ts';
import { linear } from './graph/ops/linear.ts';
import { DeviceWeights } from './model/deviceWeights.ts';
import { withAdapter } from './model/lora.ts';
import type { AdapterSettings, TransformerConfig } from './model/transformer.ts';
import { floatTensor, halfTensor, Session, type DeviceSettings } from './session/session.ts';
import { Trainer } from './train/trainer.ts';

/** The sampler and the trainer of one architecture. */
export interface Engine {
  readonly generator: Generator;
  readonly trainer: Trainer;
}

interface OwnedEngine extends Engine {
  readonly weights: DeviceWeights;
}

export class Engines {
  private readonly config: TransformerConfig;
  private readonly device: DeviceSettings;
  private readonly memory: CacheMemory;
  private readonly plain: OwnedEngine;
  private adapted: { readonly key: string; readonly engine: Promise<OwnedEngine> } | undefined;

  private constructor(config: TransformerConfig, device: DeviceSettings, memory: CacheMemory, plain: OwnedEngine) {
    this.config = config;
    this.device = device;
    this.memory = memory;
    this.plain = plain;
  }

  static async create(config: TransformerConfig, device: DeviceSettings): Promise<Engines> {
    if (config.halves === 'computed') {
      await tryHalves(device);
    }
    const memory = new CacheMemory();
    return new Engines(config, device, memory, await compile(config, device, memory));
  }

  /**
   * Returns the engine for the given adapter settings, or the plain one for none. The last adapted
   * engine is kept, so a run compiles only once.
   */
  async of(settings: AdapterSettings | undefined): Promise<Engine> {
    if (settings === undefined) {
      return this.plain;
    }
    const key = JSON.stringify(settings);
    if (this.adapted?.key !== key) {
      const old = this.adapted?.engine;
      this.adapted = {
        key,
        engine: compile(withAdapter(this.config, settings), this.device, this.memory, this.plain.weights),
      };
      if (old !== undefined) {
        await release(await old);
      }
    }
    return this.adapted.engine;
  }

  /** @param bytes upper limit of the key-value cache of one call */
  boundCache(bytes: number): void {
    this.memory.limit = bytes;
  }

  /** Frees the device memory of training that was given up. */
  async forget(): Promise<void> {
    this.plain.trainer.forget();
    (await this.adapted?.engine)?.trainer.forget();
  }

  async release(): Promise<void> {
    if (this.adapted !== undefined) {
      await release(await this.adapted.engine);
    }
    await release(this.plain);
  }
}

/** @throws C3Error('model') if a device cannot compute in float16 */
async function tryHalves(device: DeviceSettings): Promise<void> {
  const g = new Graph('halves');
  g.output('y', linear(g, g.floatInput('x', [2, 16]), g.input('weight', 'float16', [16, 16])));
  const session = await Session.create(g, device);
  try {
    await session.run({
      x: floatTensor(new Float32Array(32), [2, 16]),
      weight: halfTensor(new Uint16Array(256), [16, 16]),
    });
  } catch (error) {
    throw new C3Error(
      'model',
      `${device.name ?? device.provider ?? 'The device'} cannot compute in float16 (${toErrorMessage(error).replace(/\s+/g, ' ').slice(0, 200)}); set device.precision: float32.`,
      { cause: error },
    );
  } finally {
    await session.release();
  }
}

async function compile(
  config: TransformerConfig,
  device: DeviceSettings,
  memory: CacheMemory,
  shared?: DeviceWeights,
): Promise<OwnedEngine> {
  const weights = new DeviceWeights(config, device, shared);
  return {
    weights,
    generator: await Generator.create(config, device, weights, memory),
    trainer: new Trainer(config, device, weights),
  };
}

async function release({ generator, trainer, weights }: OwnedEngine): Promise<void> {
  await generator.release();
  await trainer.release();
  await weights.release();
}
