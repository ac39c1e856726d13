/** ONNX Runtime sessions. This is the only file that calls ONNX Runtime. */

import * as os from 'node:os';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import ortPackage from 'onnxruntime-node/package.json' with { type: 'json' };
import type { NumericEnvironment } from '../../domain/snapshot.ts';
import { DEFAULT_PROVIDER, findTraits, type Precision, type Provider } from '../../shared/devices.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import type { Graph } from '../graph/graph.ts';
import { DeviceTensor, type Origin } from './deviceTensor.ts';

export interface DeviceSettings {
  /** Threads of one matrix product on the CPU. */
  readonly threads: number;
  /** The execution provider of graphs; default CPU. */
  readonly provider?: Provider;
  /** Name of the device for the numeric environment; default the name of the processor. */
  readonly name?: string;
  /** Element type of loaded weights; default float32. */
  readonly precision?: Precision;
}

export type Feeds = Readonly<Record<string, Tensor | DeviceTensor>>;
export type Outputs = Readonly<Record<string, Tensor>>;

export interface Results {
  /** The outputs that were not kept. */
  readonly outputs: Outputs;
  /** The outputs that stay on the device. The caller disposes of them. */
  readonly kept: Readonly<Record<string, DeviceTensor>>;
}

export const floatTensor = (data: Float32Array, dims: readonly number[]): Tensor => new Tensor('float32', data, dims);
/**
 * Returns a float16 tensor from the bits of its numbers. The native binding takes no other array for
 * float16, and the constructor of the package would convert this one.
 */
export const halfTensor = (bits: Uint16Array, dims: readonly number[]): Tensor =>
  Object.defineProperty(new Tensor('uint16', bits, dims), 'type', { value: 'float16' });
export const int64Tensor = (data: BigInt64Array, dims: readonly number[]): Tensor => new Tensor('int64', data, dims);
export const int32Tensor = (data: Int32Array, dims: readonly number[]): Tensor => new Tensor('int32', data, dims);
export const boolTensor = (data: readonly boolean[], dims: readonly number[]): Tensor =>
  new Tensor('bool', Uint8Array.from(data, Number), dims);

export function floatData(outputs: Outputs, name: string): Float32Array {
  const data = outputs[name]?.data;
  if (!(data instanceof Float32Array)) {
    throw new C3Error('model', `The graph returned no float32 output ${name}; reinstall onnxruntime-node.`);
  }
  return data;
}

/** Returns true if outputs can stay on the device between calls. */
export const keepsOutputs = (device: DeviceSettings): boolean => findTraits(device).keptOutputs !== null;

export class Session {
  private readonly session: InferenceSession;
  private readonly keep: ReadonlySet<string>;
  private readonly kept: Origin = { alive: 0 };

  private constructor(session: InferenceSession, keep: readonly string[]) {
    this.session = session;
    this.keep = new Set(keep);
  }

  /**
   * Compiles a graph for a device. Nodes that its provider lacks run on the CPU.
   * @param keep outputs that stay on the device, for runKeeping; on the CPU they stay in ordinary
   *   memory
   * @throws C3Error('model') if the provider is not available or refuses the graph
   */
  static async create(graph: Graph, device: DeviceSettings, keep: readonly string[] = []): Promise<Session> {
    const { provider = DEFAULT_PROVIDER } = device;
    const { keptOutputs } = findTraits(device);
    try {
      const session = await InferenceSession.create(graph.toModel(), {
        executionProviders: [provider],
        intraOpNumThreads: device.threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        logSeverityLevel: 3,
        enableMemPattern: false,
        // Sessions take turns: a thread that keeps spinning for one session would slow the next.
        extra: { session: { force_spinning_stop: '1', intra_op: { allow_spinning: hasFreeProcessors() ? '1' : '0' } } },
        ...(keptOutputs !== null && {
          preferredOutputLocation: Object.fromEntries(keep.map((name) => [name, keptOutputs])),
        }),
      });
      return new Session(session, keep);
    } catch (error) {
      throw new C3Error(
        'model',
        `ONNX Runtime refused a graph on ${provider}: ${toErrorMessage(error)}; run \`c3 doctor\`.`,
        { cause: error },
      );
    }
  }

  /** Runs a graph that keeps nothing on the device. Outputs are new tensors in ordinary memory. */
  async run(feeds: Feeds): Promise<Outputs> {
    if (this.keep.size > 0) {
      throw new Error('This session keeps outputs on the device; call runKeeping.');
    }
    return this.session.run(unwrapFeeds(feeds));
  }

  /** Runs the graph. The outputs in `keep` are returned as device tensors, which the caller owns. */
  async runKeeping(feeds: Feeds): Promise<Results> {
    const outputs: Record<string, Tensor> = {};
    const kept: Record<string, DeviceTensor> = {};
    for (const [name, tensor] of Object.entries(await this.session.run(unwrapFeeds(feeds)))) {
      if (this.keep.has(name)) {
        kept[name] = new DeviceTensor(tensor, this.kept);
      } else {
        outputs[name] = tensor;
      }
    }
    return { outputs, kept };
  }

  /**
   * @throws Error while tensors that it kept are in use: their memory is freed with the session, and
   *   disposing of them later would end the process
   */
  async release(): Promise<void> {
    if (this.kept.alive > 0) {
      throw new Error(`A graph was released while ${this.kept.alive} tensors that it kept on the device are held.`);
    }
    await this.session.release();
  }
}

function unwrapFeeds(feeds: Feeds): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(feeds).map(([name, value]) => [name, value instanceof DeviceTensor ? value.tensor : value]),
  );
}

export const runtimeVersion = (): string => ortPackage.version;

export const processorName = (): string => os.cpus()[0]?.model.trim() ?? 'unknown processor';

/** Returns everything that a result may depend on besides weights, context, sampling and stream. */
export function numericEnvironment(device: DeviceSettings): NumericEnvironment {
  return {
    runtime: `onnxruntime-node ${ortPackage.version}`,
    provider: device.provider ?? DEFAULT_PROVIDER,
    device: device.name ?? processorName(),
    threads: device.threads,
    platform: `${process.platform}-${process.arch}`,
  };
}

/**
 * Returns true if the machine had free processors in the last minute. Threads that spin while they
 * wait are 5 to 10 % faster alone, but two runs that share two cores then both take one and a half
 * times as long.
 */
function hasFreeProcessors(): boolean {
  return (os.loadavg()[0] ?? 0) <= os.availableParallelism();
}
