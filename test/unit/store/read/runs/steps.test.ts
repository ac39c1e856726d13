import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summarizeSpread } from '../../../../../src/domain/stepRows.ts';
import { filledStore, newBucket, newCredit, newMessage, newEpisode, RUN, WEIGHTS } from '../../helpers.ts';

test('quartiles interpolate between order statistics, as numpy.quantile does', () => {
  // numpy.quantile([...], [0, .25, .5, .75, 1])
  assert.deepEqual(summarizeSpread([4, 1, 3, 2]), { n: 4, low: 1, lower: 1.75, middle: 2.5, upper: 3.25, high: 4 });
  assert.deepEqual(summarizeSpread([0.5]), { n: 1, low: 0.5, lower: 0.5, middle: 0.5, upper: 0.5, high: 0.5 });
  assert.deepEqual(summarizeSpread([-1, -1, 0, 5, 9, 10]), {
    n: 6,
    low: -1,
    lower: -0.75,
    middle: 2.5,
    upper: 8,
    high: 10,
  });
  assert.equal(summarizeSpread([]), null);
});

test('the credits of a step are those that it learned from, by role, with their variance within contexts', (t) => {
  const store = filledStore(t);
  const credited = (role: string, values: readonly number[], changes: { readonly iteration?: number } = {}): void => {
    const bucket = store.insertBucket(newBucket({ role, ...changes }));
    for (const [siblingIndex, value] of values.entries()) {
      const message = store.insertMessage(newMessage({ role, bucket, siblingIndex, ...changes }));
      store.insertCredit(bucket, message, newCredit(value));
      // A later word of another estimator, or of the same one, is not what was learned from.
      store.insertCredit(bucket, message, newCredit(99, { estimator: 'full_mean' }));
      store.insertCredit(bucket, message, newCredit(-99));
    }
  };
  credited('reasoner', [1, -1]);
  credited('reasoner', [0.5]);
  credited('actor', [0, 0, 3]);
  credited('actor', [7, 7], { iteration: 2 });
  store.insertMessage(newMessage({ role: 'reasoner', bucket: store.insertBucket(newBucket()) }));
  store.insertMessage(newMessage({ phase: 'evaluate' }));
  const { roles, variance } = store.stepCredits(RUN, 1);
  assert.deepEqual(roles, [
    { role: 'reasoner', spread: { n: 3, low: -1, lower: -0.25, middle: 0.5, upper: 0.75, high: 1 } },
    { role: 'actor', spread: { n: 3, low: 0, lower: 0, middle: 0, upper: 1.5, high: 3 } },
  ]);
  // Population variances 1 and 2; a context with one credit has none.
  assert.deepEqual(variance, { value: 1.5, contexts: 2 });
  assert.deepEqual(store.stepCredits(RUN, 3), { roles: [], variance: null });
  assert.deepEqual(store.stepCredits('none', 1), { roles: [], variance: null });
});

test('a round costs what its messages and episodes cost, and the newest ledger is that of the last finished step', (t) => {
  const store = filledStore(t);
  const first = store.insertMessage(newMessage({ phase: 'evaluate' }));
  store.insertMessage(newMessage({ phase: 'evaluate', promptTokens: 5, reusedTokens: 1 }));
  // Taken from an equal request: more is reused than its prompt has.
  store.insertMessage(newMessage({ phase: 'evaluate', promptTokens: 5, reusedTokens: 9 }));
  store.insertMessage(newMessage({ phase: 'evaluate', iteration: 2 }));
  store.insertEpisode(newEpisode(first, 1, { phase: 'evaluate', evaluatorCalls: 2 }));
  store.insertEpisode(newEpisode(first, null, { phase: 'evaluate' }));
  assert.deepEqual(store.roundCost({ run: RUN, phase: 'evaluate', iteration: 1 }), {
    evaluatorCalls: 3,
    tokens: { prompt: 21, reused: 9, completion: 8, reusedCompletion: 4 },
  });
  assert.deepEqual(store.roundCost({ run: RUN, phase: 'train', iteration: 1 }), {
    evaluatorCalls: 0,
    tokens: { prompt: 0, reused: 0, completion: 0, reusedCompletion: 0 },
  });
  assert.equal(store.latestLedger(RUN), null);
  const ledger = (evaluatorCalls: number) => ({
    evaluatorCalls,
    tokens: { prompt: 1, reused: 0, completion: 2 },
    decisions: {},
    seconds: 1,
  });
  const metrics = {
    meanReturn: 0,
    loss: 0,
    kl: 0,
    clipFraction: 0,
    gradientNorm: 0,
    learningRate: 0,
    ratioDeviation: 0,
    creditVariance: 0,
    generateSeconds: 0,
    trainSeconds: 0,
  };
  for (const iteration of [1, 2, 3]) {
    store.insertStep({ run: RUN, iteration, snapshot: WEIGHTS, ledger: ledger(iteration) });
  }
  for (const iteration of [1, 2]) {
    store.finishStep(RUN, iteration, metrics, ledger(10 * iteration));
  }
  assert.deepEqual(store.latestLedger(RUN), ledger(20));
});
