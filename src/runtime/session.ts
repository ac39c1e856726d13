/** ONNX Runtime sessions: the only place that touches the runtime itself. */
import * as os from 'node:os';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import ortPackage from 'onnxruntime-node/package.json' with { type: 'json' };
import { C3Error, messageOf } from '../shared/errors.ts';
import type { NumericEnvironment } from '../shared/records.ts';
import type { Graph } from './graph.ts';

export interface DeviceSettings {
  /** Threads of one matrix product. */
  readonly threads: number;
}

export type Feeds = Readonly<Record<string, Tensor>>;
export type Outputs = Readonly<Record<string, Tensor>>;

export const floats = (data: Float32Array, dims: readonly number[]): Tensor => new Tensor('float32', data, dims);
export const longs = (data: BigInt64Array, dims: readonly number[]): Tensor => new Tensor('int64', data, dims);

/** The float32 elements of an output. */
export function floatData(outputs: Outputs, name: string): Float32Array {
  const data = outputs[name]?.data;
  if (!(data instanceof Float32Array)) throw new C3Error('model', `The graph gave no float32 output ${name}; reinstall onnxruntime-node.`);
  return data;
}

/** A compiled graph. */
export class Session {
  private readonly session: InferenceSession;

  private constructor(session: InferenceSession) {
    this.session = session;
  }

  /** Compiles a graph on the CPU provider. */
  static async create(graph: Graph, device: DeviceSettings): Promise<Session> {
    try {
      const session = await InferenceSession.create(graph.toModel(), {
        executionProviders: ['cpu'],
        intraOpNumThreads: device.threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        logSeverityLevel: 3,
      });
      return new Session(session);
    } catch (error) {
      throw new C3Error('model', `ONNX Runtime refused a graph: ${messageOf(error)}; run \`c3 doctor\`.`, { cause: error });
    }
  }

  /** Runs the graph; outputs are fresh CPU tensors. */
  async run(feeds: Feeds): Promise<Outputs> {
    return this.session.run({ ...feeds });
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

/** The version of the runtime package. */
export const runtimeVersion = (): string => ortPackage.version;

/** What a result may depend on beside weights, context, sampling and stream. */
export function numericEnvironment(device: DeviceSettings): NumericEnvironment {
  const processor = os.cpus()[0]?.model.trim() ?? 'unknown processor';
  return {
    runtime: `onnxruntime-node ${ortPackage.version}`,
    provider: 'cpu',
    device: processor,
    threads: device.threads,
    platform: `${process.platform}-${process.arch}`,
  };
}
