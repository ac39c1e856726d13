/** Small float64 arrays of any rank, and graphs run on them: what the operator tests are written in. */

import { Tensor } from 'onnxruntime-node';
import type { Graph } from '../../../src/runtime/graph/graph.ts';
import { Stream, streamKey } from '../../../src/runtime/random.ts';
import { Session } from '../../../src/runtime/session/session.ts';

export interface Nd {
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: Float64Array;
}

/** The array whose element at an index is that of a function. */
export function make(shape: readonly number[], element: (...index: number[]) => number): Nd {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = Float64Array.from({ length: size }, (_, flat) => {
    const index: number[] = [];
    let rest = flat;
    for (const dim of [...shape].reverse()) {
      index.unshift(rest % dim);
      rest = Math.floor(rest / dim);
    }
    return element(...index);
  });
  return { shape, data };
}

/** One element; an axis of length 1 answers to any index, as in a broadcast, and missing leading axes are skipped. */
export function at(array: Nd, ...index: number[]): number {
  const own = index.slice(index.length - array.shape.length);
  const flat = array.shape.reduce((position, dim, axis) => position * dim + (dim === 1 ? 0 : (own[axis] ?? 0)), 0);
  return item(array.data, flat);
}

/** An element that must be there. */
export function item(data: ArrayLike<number>, index: number): number {
  const value = data[index];
  if (value === undefined) {
    throw new Error(`No element ${index} among ${data.length}.`);
  }
  return value;
}

/** An entry that must be there. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) {
    throw new Error('A value is missing.');
  }
  return value;
}

export const total = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0);
export const range = (length: number): number[] => Array.from({ length }, (_, index) => index);

/** The stream of a name; tests draw from nothing else. */
export const testStream = (name: string, sibling = 0): Stream => new Stream(testKey(name, sibling));
export const testKey = (name: string, sibling = 0): string =>
  streamKey({ seed: 7, scope: name, uidSha: '', role: '', turn: 0, sibling });

/** Uniform numbers in [low, high). */
export function noise(name: string, shape: readonly number[], low = -1, high = 1): Nd {
  const stream = testStream(name);
  let position = 0;
  return make(shape, () => low + (high - low) * stream.uniform(position++));
}

/** A compiled graph over float64 arrays. */
export class Runner {
  private readonly graph: Graph;
  private readonly session: Session;

  private constructor(graph: Graph, session: Session) {
    this.graph = graph;
    this.session = session;
  }

  static async create(graph: Graph): Promise<Runner> {
    return new Runner(graph, await Session.create(graph, { threads: 1 }));
  }

  /** Runs on named arrays; float outputs only. */
  async run(inputs: Readonly<Record<string, Nd>>): Promise<Record<string, Nd>> {
    const feeds = Object.fromEntries(
      Object.entries(inputs).map(([name, { shape, data }]) => [
        name,
        this.graph.float === 'float64'
          ? new Tensor('float64', data, shape)
          : new Tensor('float32', Float32Array.from(data), shape),
      ]),
    );
    const outputs = await this.session.run(feeds);
    return Object.fromEntries(
      Object.entries(outputs).map(([name, tensor]) => {
        const { data } = tensor;
        if (!(data instanceof Float64Array || data instanceof Float32Array)) {
          throw new Error(`${name} is no float output.`);
        }
        return [name, { shape: tensor.dims, data: Float64Array.from(data) }];
      }),
    );
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}
