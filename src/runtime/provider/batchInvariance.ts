/**
 * The measurement behind exact replay: it counts elements of a product or of attention that depend on
 * the rows beside them or on padding. Products run as in generation: weights are inputs, at least two
 * rows are together, and keys are padded to a multiple of TIME_MULTIPLE.
 */

import type { Tensor } from 'onnxruntime-node';
import { Graph } from '../graph/graph.ts';
import { attention, HIDDEN } from '../graph/ops/attention.ts';
import { linear } from '../graph/ops/linear.ts';
import { floatData, floatTensor, Session, type DeviceSettings, type Feeds } from '../session/session.ts';
import { roundUp, TIME_MULTIPLE } from '../train/graph/pack.ts';

export interface BatchInvariance {
  readonly shapes: number;
  readonly elements: number;
  /** Elements whose bits differ from those in the largest batch. */
  readonly differing: number;
}

/** Inner elements and columns of the products, in sizes of small models, the fast ones first. */
const PRODUCTS: readonly (readonly [inner: number, columns: number])[] = [
  [32, 64],
  [129, 48],
  [64, 192],
  [64, 256],
  [96, 259],
  [256, 128],
  [192, 192],
  [128, 384],
  [512, 192],
  [192, 576],
];
/** Heads, head width and used keys of the attention shapes. */
const ATTENTIONS: readonly (readonly [heads: number, width: number, keys: number])[] = [
  [3, 32, 21],
  [2, 64, 33],
];
const LARGEST = 64;
const BATCHES = [1, 2, 5, 17, 33];

/** A graph with one output `result`, whose rows should not depend on their neighbors. */
export interface RowOperator {
  readonly graph: Graph;
  /** Returns rows `first` to `first + rows - 1` of an endless input. */
  readonly feeds: (first: number, rows: number) => Feeds;
}

/**
 * Compares smaller batches with one of 64 rows, over all shapes or as many as fit in the time.
 * @param seconds time after which no further shape is started
 * @throws C3Error('model') if the provider is not available
 */
export async function measureBatchInvariance(
  device: DeviceSettings,
  seconds = Infinity,
  products = PRODUCTS,
): Promise<BatchInvariance> {
  const end = performance.now() + 1000 * seconds;
  const operators = [
    ...products.map((shape) => () => buildProductOperator(...shape)),
    ...ATTENTIONS.map((shape) => () => buildAttentionOperator(...shape)),
  ];
  const total = { shapes: 0, elements: 0, differing: 0 };
  for (const build of operators) {
    if (performance.now() >= end) {
      break;
    }
    // Generation runs a batch of one with a second row.
    const { elements, differing } = await compareBatches(
      build(),
      device,
      BATCHES.map((rows) => Math.max(2, rows)),
      LARGEST,
    );
    total.shapes++;
    total.elements += elements;
    total.differing += differing;
  }
  return total;
}

/**
 * Runs an operator on batches of several sizes, each at another position of its input, and compares
 * every row with the same row of one large batch.
 * @throws C3Error('model') if the provider is not available
 */
export async function compareBatches(
  { graph, feeds }: RowOperator,
  device: DeviceSettings,
  batches: readonly number[],
  largest: number,
): Promise<{ readonly elements: number; readonly differing: number }> {
  const session = await Session.create(graph, device);
  const run = async (first: number, rows: number): Promise<Float32Array> =>
    floatData(await session.run(feeds(first, rows)), 'result');
  try {
    const reference = await run(0, largest);
    const width = reference.length / largest;
    const count = { elements: 0, differing: 0 };
    for (const rows of batches) {
      const first = (START_STRIDE * rows) % (largest - rows + 1);
      const values = await run(first, rows);
      count.elements += values.length;
      for (let index = 0; index < values.length; index++) {
        if (!Object.is(values[index], reference[first * width + index])) {
          count.differing++;
        }
      }
    }
    return count;
  } finally {
    await session.release();
  }
}

/** A prime, so that batches start at different positions. */
const START_STRIDE = 7;

/** Describes a measurement: `12 shapes, batches 1 to 64: 0 differing elements`. */
export const describeInvariance = ({ shapes, differing }: BatchInvariance): string =>
  `${shapes} shapes, batches 1 to ${LARGEST}: ${differing} differing elements`;

/** Builds rows @ weight^T. */
export function buildProductOperator(inner: number, columns: number): RowOperator {
  const graph = new Graph('product');
  graph.output(
    'result',
    linear(graph, graph.floatInput('rows', ['rows', inner]), graph.floatInput('weight', [columns, inner])),
  );
  const weight = floatTensor(noiseRows(inner, columns)(0, columns), [columns, inner]);
  const input = noiseRows(inner, inner);
  return { graph, feeds: (first, rows) => ({ rows: floatTensor(input(first, rows), [rows, inner]), weight }) };
}

/**
 * Builds attention over keys and values of which the last are hidden. Batches of different sizes
 * have different padding.
 * @param queries of each row and head
 */
export function buildAttentionOperator(heads: number, width: number, used: number, queries = 2): RowOperator {
  const graph = new Graph('attention');
  const cached = ['rows', heads, 'slots', width] as const;
  const result = attention(graph, {
    queries: graph.floatInput('queries', ['rows', heads, queries, width]),
    keys: graph.floatInput('keys', cached),
    values: graph.floatInput('values', cached),
    mask: {
      bias: graph.floatInput('bias', [1, 1, 1, 'slots']),
      visible: graph.floatInput('visible', [1, 1, 1, 'slots']),
    },
    ones: graph.floatInput('ones', ['slots', 2]),
  });
  graph.output('result', result);
  const length = used * width;
  const [query, key, value] = [
    noiseRows(heads * queries * width, 1),
    noiseRows(heads * length, 2),
    noiseRows(heads * length, 3),
  ];
  const padded = (lines: Float32Array, rows: number, slots: number): Tensor => {
    const cache = new Float32Array(rows * heads * slots * width);
    for (let line = 0; line < rows * heads; line++) {
      cache.set(lines.subarray(line * length, (line + 1) * length), line * slots * width);
    }
    return floatTensor(cache, [rows, heads, slots, width]);
  };
  return {
    graph,
    feeds: (first, rows) => {
      const slots = roundUp(used, TIME_MULTIPLE) + TIME_MULTIPLE * (rows % PADDINGS);
      return {
        queries: floatTensor(query(first, rows), [rows, heads, queries, width]),
        keys: padded(key(first, rows), rows, slots),
        values: padded(value(first, rows), rows, slots),
        bias: floatTensor(new Float32Array(slots).fill(HIDDEN, used), [1, 1, 1, slots]),
        visible: floatTensor(new Float32Array(slots).fill(1, 0, used), [1, 1, 1, slots]),
        ones: floatTensor(new Float32Array(2 * slots).fill(1), [slots, 2]),
      };
    },
  };
}

const PADDINGS = 6;

/**
 * Returns a source of rows of numbers in [-1, 1), each by its position: a multiplicative hash (Knuth
 * 1998, 6.4), mixed twice. Their values do not matter, except that sums of them round.
 * @returns a function for rows `first` to `first + rows - 1`, which are computed on first use
 */
export function noiseRows(width: number, seed: number): (first: number, rows: number) => Float32Array {
  let known = new Float32Array();
  return (first, rows) => {
    if (known.length < (first + rows) * width) {
      known = Float32Array.from({ length: (first + rows) * width }, (_, place) => hashToUnit(place, seed));
    }
    return known.subarray(first * width, (first + rows) * width);
  };
}

function hashToUnit(place: number, seed: number): number {
  let mixed = Math.imul(place + 1, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  mixed ^= mixed >>> 13;
  return Math.imul(mixed, 0xc2b2ae35) / 2 ** 31;
}
