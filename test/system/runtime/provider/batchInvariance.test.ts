/**
 * Which operators of the generation and training graphs give a row the same bits in any batch, at the widths of the
 * bundled team's model, of the benchmark's and of odd ones. Two rows or more: what a single row does is reported, not
 * asserted, for the graphs never ask for one.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { SHAPE } from '../../../../src/bench/speed/shape.ts';
import { Graph, type Value } from '../../../../src/runtime/graph/graph.ts';
import { rowMaximum } from '../../../../src/runtime/graph/ops/attention.ts';
import { sum } from '../../../../src/runtime/graph/ops/broadcast.ts';
import { div, exp, log, mul, swiglu } from '../../../../src/runtime/graph/ops/elementwise.ts';
import { logSoftmax, rmsNorm, targetLogSoftmax } from '../../../../src/runtime/graph/ops/normalise.ts';
import { rotaryTables, rotate } from '../../../../src/runtime/model/decoder.ts';
import { exactThreads } from '../../../../src/runtime/model/exactThreads.ts';
import { loadModel } from '../../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import {
  buildAttentionOperator,
  compareBatches,
  noiseRows,
  buildProductOperator,
  type RowOperator,
} from '../../../../src/runtime/provider/batchInvariance.ts';
import { listWeightProducts } from '../../../../src/runtime/provider/products.ts';
import { floatTensor, int32Tensor, int64Tensor, type Feeds } from '../../../../src/runtime/session/session.ts';
import { present, range } from '../../../unit/runtime/nd.ts';

const LARGEST = 512;
/** Every size that a batch of generation can have, and more as in prefill or training. */
const BATCHES = [...range(257).slice(2), 300, 500];
/** Those about the widths of vector registers and the blocks of products. */
const FEWER = [...range(35).slice(2), 47, 48, 49, 63, 64, 65, 95, 96, 100, 127, 128, 129, 191, 200, 255, 256, 500];
/** For attention, whose batches are larger. */
const SOME = [2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 32, 33, 64, 100];
const POSITIONS = 64;

let models: readonly TransformerConfig[] = [];
before(async () => {
  models = [(await loadModel(join('media', 'team'))).config, SHAPE];
});

type MoreFeeds = (first: number, rows: number) => Feeds;

/** An operator over rows of a width, with whatever else it takes. */
function rowwise(width: number, build: (g: Graph, x: Value) => Value, more: MoreFeeds = () => ({})): RowOperator {
  const graph = new Graph('operator');
  // Up to 8: exponentials of all sizes.
  graph.output('result', build(graph, mul(graph, graph.floatInput('x', ['rows', width]), graph.scalar(8))));
  return { graph, feeds: (first, rows) => ({ ...noiseFeed('x', width, 5)(first, rows), ...more(first, rows) }) };
}

const noises = new Map<string, ReturnType<typeof noiseRows>>();

/** An input of rows of noise. */
function noiseFeed(name: string, width: number, seed: number): MoreFeeds {
  const key = `${width} ${seed}`;
  const rowsOf = noises.get(key) ?? noiseRows(width, seed);
  noises.set(key, rowsOf);
  return (first, rows) => ({ [name]: floatTensor(rowsOf(first, rows), [rows, width]) });
}

const indices = (first: number, rows: number, limit: number): Int32Array =>
  Int32Array.from({ length: rows }, (_, row) => (11 * (first + row)) % limit);

const OPERATORS: Readonly<Record<string, (width: number) => RowOperator>> = {
  exp: (width) => rowwise(width, exp),
  'row maximum': (width) => rowwise(width, rowMaximum),
  'division by a column': (width) =>
    rowwise(width, (g, x) => div(g, x, g.floatInput('column', ['rows', 1])), noiseFeed('column', 1, 6)),
  RMSNorm: (width) => {
    const weight = floatTensor(noiseRows(width, 7)(0, 1), [width]);
    return rowwise(
      width,
      (g, x) => rmsNorm(g, x, g.floatInput('weight', [width]), 1e-6),
      () => ({ weight }),
    );
  },
  'gated unit': (width) =>
    rowwise(width, (g, x) => swiglu(g, x, g.floatInput('up', ['rows', width])), noiseFeed('up', width, 8)),
  'log softmax': (width) => rowwise(width, logSoftmax),
  'log softmax at a target': (width) =>
    rowwise(
      width,
      (g, x) => targetLogSoftmax(g, x, g.input('targets', 'int32', ['rows', 1])),
      (first, rows) => ({ targets: int32Tensor(indices(first, rows, width), [rows, 1]) }),
    ),
};

/** Two heads of half the width. */
const rotation = (width: number): RowOperator =>
  rowwise(
    width,
    (g, x) => rotate(g, x, g.input('positions', 'int64', ['rows', 1]), rotaryTables(g, POSITIONS, width / 2, 10000)),
    (first, rows) => ({
      positions: int64Tensor(BigInt64Array.from(indices(first, rows, POSITIONS), BigInt), [rows, 1]),
    }),
  );

for (const threads of [1, 2]) {
  describe(`with ${threads} thread(s), any batch of two rows or more gives a row the same bits`, () => {
    const none = async (
      operator: RowOperator,
      what: string,
      batches = BATCHES,
      largest = LARGEST,
      own = threads,
    ): Promise<void> => {
      const { elements, differing } = await compareBatches(operator, { threads: own }, batches, largest);
      assert.deepEqual({ what, differing, measured: elements > 0 }, { what, differing: 0, measured: true });
    };

    it('every weight product of the bundled model and of the benchmark', async () => {
      for (const config of models) {
        // The benchmark's untied head has the shape of no other product; layers repeat theirs.
        const shapes = new Map(
          listWeightProducts(config, 'forward').map(({ inputs, outputs }) => [
            `${inputs} x ${outputs}`,
            [inputs, outputs] as const,
          ]),
        );
        assert.ok(shapes.size >= 4);
        for (const [what, [inputs, outputs]] of shapes) {
          await none(buildProductOperator(inputs, outputs), what, BATCHES, LARGEST, exactThreads(config, threads));
        }
      }
    });

    for (const [name, build] of Object.entries(OPERATORS)) {
      it(`${name}, at even and odd widths`, async () => {
        for (const width of [32, 37, 192, 256, 259, 658]) {
          await none(build(width), `${name} of ${width}`, FEWER);
        }
      });
    }

    it('rotary positions', async () => {
      for (const width of [12, 64, 192, 256]) {
        await none(rotation(width), `rotation of ${width}`, FEWER);
      }
    });

    it('attention over any padding, by width of a head, heads, slots and queries', async () => {
      const shapes = [
        [3, 32, 5, 2],
        [3, 32, 61, 2],
        [4, 64, 64, 2],
        [4, 64, 130, 2],
        [1, 16, 33, 4],
        [2, 24, 47, 3],
        [2, 48, 100, 8],
        [1, 64, 300, 2],
      ] as const;
      for (const [heads, width, used, queries] of shapes) {
        await none(
          buildAttentionOperator(heads, width, used, queries),
          `${heads} heads of ${width}, ${used} slots, ${queries} queries`,
          SOME,
          128,
        );
      }
    });
  });
}

describe('what the graphs do without', () => {
  const count = async (
    operator: RowOperator,
    batches: readonly number[],
  ): Promise<{ elements: number; differing: number }> => compareBatches(operator, { threads: 1 }, batches, LARGEST);

  // Whether these differ is the processor's and the runtime's affair; here is what they did on this machine.
  it('a row by itself, sums and logarithms by operators of their own: counted, not asserted', async (t) => {
    const report = async (what: string, operator: RowOperator, batches = FEWER): Promise<void> => {
      const { elements, differing } = await count(operator, batches);
      assert.ok(elements > 0);
      t.diagnostic(`${what}: ${differing} of ${elements} elements differ`);
    };
    for (const { inputs, outputs } of listWeightProducts(present(models[0]), 'forward').slice(0, 4)) {
      await report(`product of one row, ${inputs} x ${outputs}`, buildProductOperator(inputs, outputs), [1]);
    }
    for (const width of [37, 192, 259]) {
      await report(
        `sum over rows of ${width}`,
        rowwise(width, (g, x) => sum(g, exp(g, x), [-1], true)),
      );
    }
    await report(
      'logarithm of a column',
      rowwise(1, (g, x) => log(g, exp(g, x))),
    );
  });

  it('a product that too many threads share does differ: the measurement finds it, exactThreads forbids it', async () => {
    const { differing } = await compareBatches(buildProductOperator(333, 151), { threads: 8 }, [2, 3, 5, 17, 33], 64);
    assert.ok(differing > 0);
    assert.ok(exactThreads({ ...SHAPE, hiddenSize: 333, vocabularySize: 151 }, 8) < 8);
  });
});
