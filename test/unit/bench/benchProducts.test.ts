/**
 * The bare weight products: how many operations they are, and that they are the products of the model's own weights.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SHAPE } from '../../../src/bench/speed/shape.ts';
import { Graph } from '../../../src/runtime/graph/graph.ts';
import { initialParameters, parameterCount, parameterViews } from '../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import {
  BareProducts,
  buildProductsGraph,
  cotangentName,
  inputName,
  countOperations,
  productName,
  listWeightProducts,
} from '../../../src/runtime/provider/products.ts';
import { floatData, floatTensor, Session } from '../../../src/runtime/session/session.ts';

const TINY: TransformerConfig = {
  ...SHAPE,
  vocabularySize: 11,
  hiddenSize: 8,
  intermediateSize: 12,
  layers: 2,
  heads: 2,
  keyValueHeads: 1,
  headDim: 4,
  maxPositions: 16,
};

/** Elements of the matrices that a position goes through, counted from the checkpoint's own tensors. */
function multiplied(config: TransformerConfig): number {
  const looked = config.tieEmbeddings ? 0 : config.vocabularySize * config.hiddenSize;
  const norms = (2 * config.layers + 1) * config.hiddenSize;
  return parameterCount(config) - looked - norms;
}

describe('operations of the bare products', () => {
  for (const tieEmbeddings of [false, true]) {
    const config = { ...TINY, tieEmbeddings };
    it(`are 2 x parameters x rows forward and three times that in training, ${tieEmbeddings ? 'tied' : 'untied'}`, () => {
      assert.equal(countOperations(listWeightProducts(config, 'forward'), 5, 5), 2 * multiplied(config) * 5);
      assert.equal(countOperations(listWeightProducts(config, 'training'), 5, 5), 6 * multiplied(config) * 5);
    });
    it(`take the output projection only where something is predicted, ${tieEmbeddings ? 'tied' : 'untied'}`, () => {
      const head = config.vocabularySize * config.hiddenSize;
      assert.equal(
        countOperations(listWeightProducts(config, 'forward'), 7, 3),
        2 * ((multiplied(config) - head) * 7 + head * 3),
      );
    });
  }

  it('are those of the measured shape: 3,672,320 parameters', () => {
    assert.equal(parameterCount(SHAPE), 3_672_320);
    assert.equal(countOperations(listWeightProducts(SHAPE, 'forward'), 1, 1), 2 * (3_672_320 - 512 * 256 - 9 * 256));
  });
});

describe('the graph of the bare products', () => {
  it('multiplies each weight of the checkpoint with its operands', async () => {
    const products = listWeightProducts(TINY, 'training');
    const parameters = initialParameters(TINY, 3);
    const graph = buildProductsGraph(TINY, 'training');
    assert.ok(graph instanceof Graph);
    const session = await Session.create(graph, { threads: 1 });
    const counts = { rows: 4, predicted: 3 };
    const feeds: Record<string, ReturnType<typeof floatTensor>> = {};
    const values = (count: number, phase: number): Float32Array =>
      Float32Array.from({ length: count }, (_, index) => Math.cos(index * 1.7 + phase));
    for (const { weight, inputs, outputs, rows } of products) {
      feeds[weight] = floatTensor(weightOf(parameters, weight, outputs * inputs), [outputs, inputs]);
      feeds[inputName(weight)] = floatTensor(values(counts[rows] * inputs, weight.length), [counts[rows], inputs]);
      feeds[cotangentName(weight)] = floatTensor(values(counts[rows] * outputs, weight.length + 1), [
        counts[rows],
        outputs,
      ]);
    }
    const outputs = await session.run(feeds);
    for (const product of products) {
      const got = floatData(outputs, productName(product));
      const expected = firstRow(
        product,
        counts[product.rows],
        elements(feeds[product.weight]),
        elements(feeds[inputName(product.weight)]),
        elements(feeds[cotangentName(product.weight)]),
      );
      assert.equal(got.length, expected.length, productName(product));
      expected.forEach((value, index) =>
        assert.ok(Math.abs((got[index] ?? NaN) - value) < 1e-5, `${productName(product)} at ${index}`),
      );
    }
    await session.release();
  });

  it('runs at any number of rows', async () => {
    for (const pass of ['forward', 'training'] as const) {
      const bare = await BareProducts.create(TINY, initialParameters(TINY, 1), { threads: 1 }, pass);
      await bare.run(2, 2);
      await bare.run(9, 4);
      await bare.release();
    }
  });
});

const elements = (tensor: ReturnType<typeof floatTensor> | undefined): Float32Array => {
  assert.ok(tensor?.data instanceof Float32Array);
  return tensor.data;
};

/** The checkpoint's own tensor; queries, keys and values follow each other in one. */
function weightOf(parameters: Float32Array, name: string, length: number): Float32Array {
  const view = parameterViews(TINY).find((one) => one.name === name.replace('qkv_proj', 'q_proj'));
  assert.ok(view !== undefined, name);
  return parameters.subarray(view.offset, view.offset + length);
}

/** The first row of X W^T, dY W or dY^T X in double precision. */
function firstRow(
  { kind, inputs, outputs }: ReturnType<typeof listWeightProducts>[number],
  rows: number,
  w: Float32Array,
  x: Float32Array,
  dy: Float32Array,
): number[] {
  const at = (array: Float32Array, index: number): number => array[index] ?? NaN;
  const sum = (count: number, term: (index: number) => number): number =>
    Array.from({ length: count }, (_, index) => term(index)).reduce((total, value) => total + value, 0);
  if (kind === 'output') {
    return Array.from({ length: outputs }, (_, o) => sum(inputs, (i) => at(x, i) * at(w, o * inputs + i)));
  }
  if (kind === 'inputGradient') {
    return Array.from({ length: inputs }, (_, i) => sum(outputs, (o) => at(dy, o) * at(w, o * inputs + i)));
  }
  return Array.from({ length: inputs }, (_, i) => sum(rows, (row) => at(dy, row * outputs) * at(x, row * inputs + i)));
}
