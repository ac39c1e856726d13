/** ONNX Runtime sessions: the only place that touches the runtime itself. */
import * as os from 'node:os';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import ortPackage from 'onnxruntime-node/package.json' with { type: 'json' };
import type { NumericEnvironment } from '../../domain/snapshot.ts';
import { DEFAULT_PROVIDER, traitsOf, type Precision, type Provider } from '../../shared/devices.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';
import type { Graph } from '../graph/graph.ts';
import { DeviceTensor, type Origin } from './deviceTensor.ts';

export interface DeviceSettings {
  /** Threads of one matrix product on the CPU. */
  readonly threads: number;
  /** Where graphs compute; the CPU unless given. */
  readonly provider?: Provider;
  /** Name of that device for the numeric environment; the processor's unless given. */
  readonly name?: string;
  /** What loaded weights are held in; float32 unless given. */
  readonly precision?: Precision;
}

export type Feeds = Readonly<Record<string, Tensor | DeviceTensor>>;
export type Outputs = Readonly<Record<string, Tensor>>;

/** What a graph gave where some outputs stay on the device. */
export interface Results {
  /** The outputs that were not kept. */
  readonly outputs: Outputs;
  /** The kept ones; the caller disposes of them. */
  readonly kept: Readonly<Record<string, DeviceTensor>>;
}

export const floats = (data: Float32Array, dims: readonly number[]): Tensor => new Tensor('float32', data, dims);
/**
 * A float16 tensor of the numbers' bits: the runtime's binding takes no other array for them, and the package's
 * constructor would turn this one into another.
 */
export const halves = (bits: Uint16Array, dims: readonly number[]): Tensor =>
  Object.defineProperty(new Tensor('uint16', bits, dims), 'type', { value: 'float16' });
export const longs = (data: BigInt64Array, dims: readonly number[]): Tensor => new Tensor('int64', data, dims);
export const ints = (data: Int32Array, dims: readonly number[]): Tensor => new Tensor('int32', data, dims);
export const bools = (data: readonly boolean[], dims: readonly number[]): Tensor =>
  new Tensor('bool', Uint8Array.from(data, Number), dims);

/** The float32 elements of an output. */
export function floatData(outputs: Outputs, name: string): Float32Array {
  const data = outputs[name]?.data;
  if (!(data instanceof Float32Array)) {
    throw new C3Error('model', `The graph gave no float32 output ${name}; reinstall onnxruntime-node.`);
  }
  return data;
}

/** True where outputs can stay on the device between calls. */
export const keepsOutputs = (device: DeviceSettings): boolean => traitsOf(device).keptOutputs !== null;

/** A compiled graph. */
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
   * @param keep outputs that stay on the device, for runKeeping; on the CPU there is no other place for them
   * @throws C3Error('model') when the provider is not to be had or refuses the graph
   */
  static async create(graph: Graph, device: DeviceSettings, keep: readonly string[] = []): Promise<Session> {
    const { provider = DEFAULT_PROVIDER } = device;
    const { keptOutputs } = traitsOf(device);
    try {
      const session = await InferenceSession.create(graph.toModel(), {
        executionProviders: [provider],
        intraOpNumThreads: device.threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        logSeverityLevel: 3,
        enableMemPattern: false,
        // Sessions take turns: a thread that went on spinning for one would hold up the next one's.
        extra: { session: { force_spinning_stop: '1', intra_op: { allow_spinning: hasFreeProcessors() ? '1' : '0' } } },
        ...(keptOutputs !== null && {
          preferredOutputLocation: Object.fromEntries(keep.map((name) => [name, keptOutputs])),
        }),
      });
      return new Session(session, keep);
    } catch (error) {
      throw new C3Error(
        'model',
        `ONNX Runtime refused a graph on ${provider}: ${messageOf(error)}; run \`c3 doctor\`.`,
        { cause: error },
      );
    }
  }

  /** Runs a graph that keeps nothing on the device; outputs are fresh tensors in ordinary memory. */
  async run(feeds: Feeds): Promise<Outputs> {
    if (this.keep.size > 0) {
      throw new Error('This session keeps outputs on the device; call runKeeping.');
    }
    return this.session.run(unwrap(feeds));
  }

  /** Runs the graph; outputs named at creation come back as device tensors, which the caller owns. */
  async runKeeping(feeds: Feeds): Promise<Results> {
    const outputs: Record<string, Tensor> = {};
    const kept: Record<string, DeviceTensor> = {};
    for (const [name, tensor] of Object.entries(await this.session.run(unwrap(feeds)))) {
      if (this.keep.has(name)) {
        kept[name] = new DeviceTensor(tensor, this.kept);
      } else {
        outputs[name] = tensor;
      }
    }
    return { outputs, kept };
  }

  /**
   * @throws Error while tensors that it kept are held: their memory goes with it, and disposing of them later would end
   *   the process
   */
  async release(): Promise<void> {
    if (this.kept.alive > 0) {
      throw new Error(`A graph was released while ${this.kept.alive} tensors that it kept on the device are held.`);
    }
    await this.session.release();
  }
}

function unwrap(feeds: Feeds): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(feeds).map(([name, value]) => [name, value instanceof DeviceTensor ? value.tensor : value]),
  );
}

/** The version of the runtime package. */
export const runtimeVersion = (): string => ortPackage.version;

/** The name of this machine's processor. */
export const processorName = (): string => os.cpus()[0]?.model.trim() ?? 'unknown processor';

/** What a result may depend on beside weights, context, sampling and stream. */
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
 * Whether the machine has processors to spare, as it was in the last minute. Threads that spin while they wait for work
 * are 5 to 10 % faster alone; where two runs share two cores they make both take one and a half times as long.
 */
function hasFreeProcessors(): boolean {
  return (os.loadavg()[0] ?? 0) <= os.availableParallelism();
}
