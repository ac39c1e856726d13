/** The divergences that a loss may penalize: values and gradients against the reference transformer in float64. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Tensor } from 'onnxruntime-node';
import { parameterFeeds } from '../../../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../../../src/runtime/model/transformer.ts';
import { EXACT_VOCABULARY, rowDivergences, type KlTerm } from '../../../../../src/runtime/train/graph/klTerm.ts';
import { packContexts, type TrainingContext } from '../../../../../src/runtime/train/graph/pack.ts';
import {
  accumulatedName,
  buildGradientGraph,
  gradientName,
} from '../../../../../src/runtime/train/graph/trainingGraph.ts';
import { Trainer } from '../../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../../src/runtime/train/trainingState.ts';
import { C3Error } from '../../../../../src/shared/errors.ts';
import { computeLogSoftmax, plainRow, referenceLogits } from '../../../../support/referenceTransformer.ts';
import { along, contextsFor, KL, policyLossOf, TEMPERATURE, tokensOf } from '../../losses.ts';
import { DEVICE, flatOutput, QWEN3, runGraph, RUNNING, scalar, testParameters, TINY, weightsOf } from '../../models.ts';
import { item, present, range, testStream, total } from '../../nd.ts';

const TERMS: readonly KlTerm[] = [
  { against: 'last', estimator: 'k3' },
  { against: 'last', estimator: 'k3', fromLast: true },
  { against: 'last', estimator: 'exact' },
  { against: 'last', estimator: 'exact', fromLast: true },
  { against: 'reference', estimator: 'exact' },
];

const lengthsOf = (contexts: readonly TrainingContext[]): number[] =>
  contexts.flatMap(({ messages }) => messages.map(({ tokens }) => tokens.length));

/** The distribution at each message token, each message alone. */
const distributionsOf = (
  config: TransformerConfig,
  flat: ArrayLike<number>,
  contexts: readonly TrainingContext[],
): Float64Array[] =>
  contexts.flatMap(({ prompt, messages }) =>
    messages.flatMap(({ tokens }) => {
      const row = plainRow([...prompt, ...tokens].slice(0, -1));
      const logits = referenceLogits(config, weightsOf(config, flat), row);
      return range(tokens.length).map((index) =>
        computeLogSoftmax(present(logits[prompt.length + index - 1]), TEMPERATURE),
      );
    }),
  );

const klOf = (own: Float64Array, other: Float64Array): number =>
  total(Array.from(own, (value, index) => Math.exp(value) * (value - item(other, index))));

const k3Of = (now: number, anchor: number): number => {
  const d = Math.min(10, Math.max(-10, anchor - now));
  return Math.exp(d) - d - 1;
};

/** The mean penalized divergence per token. */
function penaltyAt(
  { estimator, against, fromLast = false }: KlTerm,
  config: TransformerConfig,
  flat: ArrayLike<number>,
  anchor: Float32Array,
  contexts: readonly TrainingContext[],
): number {
  if (estimator === 'exact') {
    const others = distributionsOf(config, anchor, contexts);
    const own = distributionsOf(config, flat, contexts);
    const each = own.map((row, index) => [row, present(others[index])] as const);
    return total(each.map(([now, other]) => (fromLast ? klOf(other, now) : klOf(now, other)))) / own.length;
  }
  const tokens = tokensOf(config, flat, contexts);
  const anchorOf = against === 'last' ? 'behaviour' : 'reference';
  const each = tokens.map((token) => [token.now, token[anchorOf]] as const);
  // KL(last || policy) has the two exchanged.
  return total(each.map(([now, anchor]) => (fromLast ? k3Of(anchor, now) : k3Of(now, anchor)))) / tokens.length;
}

/** PPO without a penalty, plus this one. */
function lossAt(
  term: KlTerm,
  config: TransformerConfig,
  flat: ArrayLike<number>,
  anchor: Float32Array,
  contexts: readonly TrainingContext[],
): number {
  const tokens = tokensOf(config, flat, contexts);
  const k3 = total(tokens.map(({ now, reference }) => k3Of(now, reference))) / tokens.length;
  return policyLossOf({}, tokens, lengthsOf(contexts)) + KL * (penaltyAt(term, config, flat, anchor, contexts) - k3);
}

const close = (got: number, expected: number, within: number): void =>
  assert.ok(Math.abs(got - expected) <= within * Math.max(1e-3, Math.abs(expected)), `${got} is not ${expected}`);

/** Parameters a little away from the tested ones. */
const nearby = (flat: Float32Array): Float32Array => {
  const stream = testStream('anchor');
  return flat.map((value, index) => value + 0.05 * stream.normal(index));
};

describe('a penalized divergence', () => {
  for (const kl of TERMS) {
    it(`has the value and the gradient that it states: ${JSON.stringify(kl)}`, async () => {
      for (const config of [TINY, QWEN3]) {
        const flat = testParameters(config);
        const anchor = nearby(flat);
        const contexts = contextsFor(config, flat);
        const batches = packContexts(config, contexts, 10_000, 1 / tokensOf(config, flat, contexts).length);
        const batch = present(batches[0]);
        const trainer = new Trainer(config, DEVICE);
        const rows = await trainer.distributions(anchor, TEMPERATURE)(batch);
        await trainer.release();
        const feeds = {
          ...parameterFeeds(config, new Float32Array(flat.length), accumulatedName),
          ...(batch.feeds as Record<string, Tensor>),
          ...(kl.estimator === 'exact' && {
            anchor: new Tensor('float32', rows, [rows.length / config.vocabularySize, config.vocabularySize]),
          }),
          klCoefficient: scalar(KL),
          temperature: scalar(TEMPERATURE),
        };
        const graph = buildGradientGraph(config, { loss: 'ppo', policy: { kl }, float: 'float64' });
        const outputs = await runGraph(graph, config, flat, feeds);
        close(item(present(outputs['loss']), 0), lossAt(kl, config, flat, anchor, contexts), 1e-5);
        close(item(present(outputs['penalty']), 0), penaltyAt(kl, config, flat, anchor, contexts), 1e-5);
        const gradient = flatOutput(config, outputs, gradientName);
        for (const draw of range(2)) {
          const stream = testStream('direction of all', draw);
          const direction = Float64Array.from(flat, (_, index) => stream.normal(index));
          const at = (distance: number): number =>
            lossAt(
              kl,
              config,
              Float64Array.from(flat, (value, index) => value + distance * item(direction, index)),
              anchor,
              contexts,
            );
          close(along(gradient, direction), (at(3e-6) - at(-3e-6)) / 6e-6, 1e-5);
        }
      }
    });
  }

  it('is learned by a step, over as many micro-batches as it takes', async (t) => {
    const flat = testParameters(TINY);
    const anchor = nearby(flat);
    const contexts = contextsFor(TINY, flat);
    const trainer = new Trainer(TINY, DEVICE);
    t.after(() => trainer.release());
    for (const kl of TERMS) {
      for (const microBatchTokens of [2048, 16]) {
        const settings = { loss: 'ppo', learningRate: 1e-3, temperature: TEMPERATURE, klCoefficient: KL } as const;
        const prepared = await trainer.prepare(
          initialState(flat),
          contexts,
          { ...settings, microBatchTokens, policy: { kl } },
          RUNNING.signal,
          trainer.distributions(anchor, TEMPERATURE),
        );
        const { loss, penalty } = await prepared.apply();
        close(loss, lossAt(kl, TINY, flat, anchor, contexts), 1e-4);
        close(penalty ?? NaN, penaltyAt(kl, TINY, flat, anchor, contexts), 1e-4);
      }
    }
  });

  it('is exactly 0 with no gradient where nothing has moved', async (t) => {
    const flat = testParameters(TINY);
    const trainer = new Trainer(TINY, DEVICE);
    t.after(() => trainer.release());
    const contexts = contextsFor(TINY, flat).map((context) => ({
      ...context,
      messages: context.messages.map((message) => ({ ...message, advantages: message.advantages.map(() => 0) })),
    }));
    const settings = { loss: 'ppo', learningRate: 1e-3, temperature: TEMPERATURE, klCoefficient: KL } as const;
    const step = await trainer.prepare(
      initialState(flat),
      contexts,
      { ...settings, policy: { kl: { against: 'last', estimator: 'exact' } } },
      RUNNING.signal,
      trainer.distributions(flat, TEMPERATURE),
    );
    const { penalty, gradientNorm } = await step.apply();
    assert.deepEqual({ penalty, gradientNorm }, { penalty: 0, gradientNorm: 0 });
  });
});

describe('the divergence of two policies', () => {
  it('is that of their whole distributions at every token', async (t) => {
    const flat = testParameters(TINY);
    const anchor = nearby(flat);
    const contexts = contextsFor(TINY, flat);
    const trainer = new Trainer(TINY, DEVICE);
    t.after(() => trainer.release());
    const other = trainer.distributions(anchor, TEMPERATURE);
    const found = await trainer.divergence(flat, other, contexts, TEMPERATURE, RUNNING.signal);
    const others = distributionsOf(TINY, anchor, contexts);
    const expected = distributionsOf(TINY, flat, contexts).map((row, index) => klOf(row, present(others[index])));
    const values = found.flat().flatMap((message) => [...message]);
    assert.equal(values.length, expected.length);
    values.forEach((value, index) => close(value, item(expected, index), 1e-4));
    const same = await trainer.divergence(
      flat,
      trainer.distributions(flat, TEMPERATURE),
      contexts,
      TEMPERATURE,
      RUNNING.signal,
    );
    assert.deepEqual(new Set(same.flat().flatMap((message) => [...message])), new Set([0]));
  });

  it('is that of a table', () => {
    const [half, skewed] = [Math.log(0.5), [Math.log(0.25), Math.log(0.75)]];
    const found = rowDivergences(Float32Array.of(half, half), Float32Array.from(skewed), 2);
    close(item(found, 0), 0.5 * Math.log(2) + 0.5 * Math.log(0.5 / 0.75), 1e-6);
  });

  it('is refused for a large vocabulary, in one sentence', () => {
    const trainer = new Trainer({ ...TINY, vocabularySize: EXACT_VOCABULARY + 1 }, DEVICE);
    assert.throws(
      () => trainer.distributions(new Float32Array(), 1),
      (error) =>
        error instanceof C3Error &&
        error.kind === 'input' &&
        /^An exact divergence compares 8193 probabilities at each token, more than 8192; choose k3\.$/.test(
          error.message,
        ),
    );
  });
});
