import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import {
  creditVariance,
  shapeWithK1,
  makeTrainingContexts,
  addReference,
  type LearningGroup,
} from '../../../src/training/advantages.ts';

interface Said {
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
}

const said = (prompt: readonly number[], tokens: readonly number[]): Said => ({
  prompt: Int32Array.from(prompt),
  tokens: Int32Array.from(tokens),
  logprobs: Float32Array.from(tokens, (token) => -token / 8),
});
const group = (all: readonly Said[], credits: readonly (number | null)[]): LearningGroup => ({
  role: 'actor',
  prompt: all[0]?.prompt ?? assert.fail(),
  messages: all.map(({ tokens, logprobs }, index) => ({ tokens, logprobs, credit: credits[index] ?? null })),
});
const advantagesOf = (contexts: readonly TrainingContext[]): number[][][] =>
  contexts.map(({ messages }) => messages.map(({ advantages }) => [...advantages]));

describe('trainingContexts', () => {
  const groups = [
    group([said([1, 2], [3, 4]), said([1, 2], [5, 6, 7]), said([1, 2], [8])], [0.5, -0.25, -0.25]),
    group([said([9], [3]), said([9], [4, 5])], [null, 0.75]),
    group([said([8], [3]), said([8], [4])], [null, null]),
  ];

  it('gives every token of a message its credit, the prompt once, and leaves out what has no credit', () => {
    const contexts = makeTrainingContexts(groups, false);
    assert.deepEqual(advantagesOf(contexts), [[[0.5, 0.5], [-0.25, -0.25, -0.25], [-0.25]], [[0.75, 0.75]]]);
    assert.deepEqual(
      contexts.map(({ prompt }) => [...prompt]),
      [[1, 2], [9]],
    );
    assert.deepEqual(
      contexts[1]?.messages.map(({ tokens, behaviour }) => [[...tokens], [...behaviour]]),
      [
        [
          [4, 5],
          [-0.5, -0.625],
        ],
      ],
    );
  });

  it('can learn from equal messages at once, as far as they have one credit', () => {
    const [equal, other] = [said([1, 2], [3, 4]), said([1, 2], [5])];
    const all = [group([equal, other, equal, equal, other], [0.5, -1, 0.5, 0.25, -1])];
    const [context] = makeTrainingContexts(all, false, true);
    assert.deepEqual(
      context?.messages.map(({ tokens, advantages, copies }) => [[...tokens], advantages[0], copies]),
      [
        [[3, 4], 0.5, 2],
        [[5], -1, 2],
        [[3, 4], 0.25, undefined],
      ],
    );
    assert.equal(makeTrainingContexts(all, false)[0]?.messages.length, 5);
  });

  it('can scale the credits of a group to mean 0 and deviation 1', () => {
    const [first, second] = advantagesOf(makeTrainingContexts(groups, true));
    // Mean 0, population variance (0.25 + 2 / 16) / 3 = 0.125.
    const expected = [0.5, -0.25, -0.25].map((value) => value / Math.sqrt(0.125));
    first?.forEach((tokens, index) => {
      for (const value of tokens) {
        assert.ok(Math.abs(value - (expected[index] ?? NaN)) < 1e-6);
      }
    });
    assert.deepEqual(second, [[0, 0]]);
    const size = [1e-3, -1e-3];
    const scaled = advantagesOf(makeTrainingContexts([group([said([1], [2]), said([1], [3])], size)], true)).flat(2);
    assert.ok(
      scaled.every((value, index) => Math.abs(value - Math.sign(size[index] ?? 0)) < 0.01),
      'the size is erased',
    );
  });
});

describe('withReference', () => {
  it('joins log-probabilities by context and message', () => {
    const contexts = makeTrainingContexts(
      [group([said([1], [2, 3]), said([1], [4])], [1, -1]), group([said([5], [6]), said([5], [7])], [1, -1])],
      false,
    );
    const joined = addReference(contexts, [
      [Float32Array.of(-1, -2), Float32Array.of(-3)],
      [Float32Array.of(-4), Float32Array.of(-5)],
    ]);
    assert.deepEqual(
      joined.map(({ messages }) => messages.map(({ reference }) => [...reference])),
      [
        [[-1, -2], [-3]],
        [[-4], [-5]],
      ],
    );
    assert.deepEqual(advantagesOf(joined), advantagesOf(contexts));
    assert.deepEqual(
      contexts[0]?.messages.map(({ reference }) => [...reference]),
      [[0, 0], [0]],
      'the given contexts stay as they were',
    );
  });
});

describe('shapeWithK1', () => {
  it('takes from each token the weighted log-ratios from it to the end', () => {
    const behaviour = [-1, -0.5, -2, -0.25];
    const reference = [-0.5, -1.5, -2, -1];
    const beta = 0.25;
    const message = {
      tokens: Int32Array.of(1, 2, 3, 4),
      behaviour: Float32Array.from(behaviour),
      reference: Float32Array.from(reference),
      advantages: new Float32Array(4).fill(0.5),
    };
    const context: TrainingContext = { prompt: Int32Array.of(7), messages: [message] };
    const expected = behaviour.map((_, token) => {
      let sum = 0;
      for (let later = token; later < 4; later++) {
        sum += (behaviour[later] ?? 0) - (reference[later] ?? 0);
      }
      return 0.5 - beta * sum;
    });
    assert.deepEqual(advantagesOf(shapeWithK1([context], beta)), [[expected]]);
    assert.deepEqual(advantagesOf(shapeWithK1([context], 0)), [[[0.5, 0.5, 0.5, 0.5]]]);
    assert.deepEqual([...message.advantages], [0.5, 0.5, 0.5, 0.5], 'the given message stays as it was');
  });
});

describe('creditVariance', () => {
  it('is the mean over groups of the population variance, groups of one left out', () => {
    const nodes = [said([1], [2]), said([1], [3])];
    const variance = creditVariance([
      group(nodes, [1, -1]),
      group(nodes, [0.5, 0.5]),
      group(nodes, [null, 9]),
      group(nodes, [0, 1]),
    ]);
    assert.ok(Math.abs(variance - (1 + 0 + 0.25) / 3) < 1e-15);
    assert.equal(creditVariance([]), 0);
  });
});
