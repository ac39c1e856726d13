import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { weightMessages, applyLossWeights } from '../../../src/training/lossWeights.ts';

const context = (role: string, ...lengths: number[]): TrainingContext => ({
  role,
  prompt: Int32Array.of(1),
  messages: lengths.map((length) => ({
    tokens: new Int32Array(length),
    behaviour: new Float32Array(length),
    reference: new Float32Array(length),
    advantages: new Float32Array(length),
  })),
});

/** Two plans of 3 and 5 tokens, and eight answers of 2 tokens each: what C3 samples of one question with [2, 4]. */
const TREE = [context('reasoner', 3, 5), context('actor', 2, 2, 2, 2), context('actor', 2, 2, 2, 2)];

const weightsOf = (contexts: readonly TrainingContext[]): (number | undefined)[][] =>
  contexts.map(({ messages }) => messages.map(({ weight }) => weight));
const sumOf = (contexts: readonly TrainingContext[]): number =>
  contexts
    .flatMap(({ messages }) => messages)
    .reduce((sum, { tokens, weight = NaN }) => sum + weight * tokens.length, 0);

describe('the weights of a loss', () => {
  it('count every token the same', () => {
    assert.deepEqual(weightsOf(weightMessages(TREE, 'token')), [
      [1 / 24, 1 / 24],
      [1 / 24, 1 / 24, 1 / 24, 1 / 24],
      [1 / 24, 1 / 24, 1 / 24, 1 / 24],
    ]);
  });

  it('count every message the same, whatever its length', () => {
    assert.deepEqual(weightsOf(weightMessages(TREE, 'message')), [
      [1 / 30, 1 / 50],
      [1 / 20, 1 / 20, 1 / 20, 1 / 20],
      [1 / 20, 1 / 20, 1 / 20, 1 / 20],
    ]);
  });

  it('count every role the same, however many messages it was sampled (equation 18)', () => {
    // S = 8 / 2 + 16 / 8: a token of a plan counts four times one of an answer, for there are a quarter as many plans.
    const [plans = [], ...answers] = weightsOf(weightMessages(TREE, 'role'));
    for (const [got, expected] of [
      ...plans.map((weight) => [weight, 1 / (2 * 6)] as const),
      ...answers.flat().map((weight) => [weight, 1 / (8 * 6)] as const),
    ]) {
      assert.ok(Math.abs((got ?? NaN) - expected) < 1e-15, `${String(got)} is not ${expected}`);
    }
  });

  it('are those of tokens, to the bit, where all roles have as many messages', () => {
    const episodes = [context('reasoner', 3, 5, 7), context('actor', 2), context('actor', 9), context('actor', 4)];
    assert.deepEqual(weightsOf(weightMessages(episodes, 'role')), weightsOf(weightMessages(episodes, 'token')));
  });

  it('come to 1, over all roles or, where each has an adapter, for each', () => {
    for (const unit of ['token', 'message', 'role'] as const) {
      assert.ok(Math.abs(sumOf(weightMessages(TREE, unit)) - 1) < 1e-15);
      const apart = weightMessages(TREE, unit, { apart: true });
      for (const role of ['reasoner', 'actor']) {
        assert.ok(Math.abs(sumOf(apart.filter(({ role: speaker }) => speaker === role)) - 1) < 1e-15);
      }
    }
    // One role alone has nothing to be weighed against.
    assert.deepEqual(
      weightsOf(weightMessages(TREE, 'role', { apart: true })),
      weightsOf(weightMessages(TREE, 'token', { apart: true })),
    );
  });

  it('leave everything else of the contexts, and without messages give none', () => {
    const [plans] = weightMessages(TREE, 'role');
    assert.equal(plans?.prompt, TREE[0]?.prompt);
    assert.equal(plans?.messages[0]?.tokens, TREE[0]?.messages[0]?.tokens);
    for (const unit of ['token', 'message', 'role'] as const) {
      assert.deepEqual(weightMessages([], unit), []);
    }
  });

  it('are those that a configuration asks for', () => {
    const asked = (...overrides: readonly string[]): readonly TrainingContext[] =>
      applyLossWeights(readConfig('', 'x', overrides), TREE);
    assert.deepEqual(asked(), weightMessages(TREE, 'role'));
    assert.deepEqual(asked('ppo.loss_weight=message'), weightMessages(TREE, 'message'));
    assert.deepEqual(asked('adapter={per: role}'), weightMessages(TREE, 'role', { apart: true }));
    const tokens = readConfig('', 'x', ['ppo.loss_weight=token']);
    assert.equal(applyLossWeights(tokens, TREE), TREE);
    // One of three mini-batches counts as much as all of them did; what is left out is counted.
    assert.deepEqual(applyLossWeights(tokens, TREE, { parts: 3 }), weightMessages(TREE, 'token', { parts: 3 }));
    assert.ok(Math.abs(sumOf(weightMessages(TREE, 'role', { parts: 3 })) - 3) < 1e-15);
    assert.deepEqual(applyLossWeights(tokens, TREE, { whole: false }), weightMessages(TREE, 'token'));
  });
});
