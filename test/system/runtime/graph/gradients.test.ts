/**
 * The gradient of a whole training micro-batch against central differences of the loss, written out in float64 on the
 * reference transformer.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FloatType } from '../../../../src/runtime/graph/graph.ts';
import { parameterFeeds, parameterViews } from '../../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import type { TrainingContext } from '../../../../src/runtime/train/graph/pack.ts';
import {
  accumulatedName,
  buildGradientGraph,
  gradientName,
  type LossKind,
} from '../../../../src/runtime/train/graph/trainingGraph.ts';
import {
  along,
  contextsFor,
  feedsOf,
  KL,
  lossOf,
  ppoTerm,
  slope,
  tokensOf,
  type Token,
} from '../../../unit/runtime/losses.ts';
import { flatOutput, QWEN2, QWEN3, runGraph, testParameters, TINY } from '../../../unit/runtime/models.ts';
import { item, present, range, testStream, total } from '../../../unit/runtime/nd.ts';

const DIRECTIONS = 3;

async function trainingOutputs(
  kind: LossKind,
  config: TransformerConfig,
  flat: Float32Array,
  contexts: readonly TrainingContext[],
  float: FloatType,
): Promise<Record<string, Float64Array>> {
  const count = tokensOf(config, flat, contexts).length;
  const nothing = parameterFeeds(config, new Float32Array(flat.length), accumulatedName);
  return runGraph(buildGradientGraph(config, { loss: kind, float }), config, flat, {
    ...nothing,
    ...feedsOf(kind, config, contexts, 1 / count),
  });
}

/** Parameters moved along a direction. */
const moved =
  (flat: Float32Array, direction: Float64Array) =>
  (distance: number): Float64Array =>
    Float64Array.from(flat, (value, index) => value + distance * item(direction, index));

const CONFIGS: Readonly<Record<string, TransformerConfig>> = {
  'a tied head': TINY,
  'an untied head, one layer': { ...TINY, tieEmbeddings: false, layers: 1, keyValueHeads: 4 },
  'biases of queries, keys and values': QWEN2,
  'normalised heads': QWEN3,
};

for (const kind of ['ppo', 'supervised'] as const) {
  describe(`the gradient of a ${kind} micro-batch`, () => {
    for (const [name, config] of Object.entries(CONFIGS)) {
      it(`${name}: every tensor, along random directions`, async () => {
        const flat = testParameters(config);
        const contexts = contextsFor(config, flat);
        const gradient = flatOutput(
          config,
          await trainingOutputs(kind, config, flat, contexts, 'float32'),
          gradientName,
        );
        for (const { name: tensor, offset, length } of parameterViews(config)) {
          for (const draw of range(DIRECTIONS)) {
            const stream = testStream(`direction ${tensor}`, draw);
            const direction = Float64Array.from(flat, (_, index) =>
              index >= offset && index < offset + length ? stream.normal(index - offset) : 0,
            );
            const expected = slope(kind, config, contexts, moved(flat, direction));
            const got = along(gradient, direction);
            assert.ok(
              Math.abs(got - expected) <= 1e-3 * Math.abs(expected),
              `${tensor}, direction ${draw}: ${got} is not ${expected}`,
            );
          }
        }
      });
    }

    for (const [name, config] of Object.entries({ TINY, QWEN2, QWEN3 })) {
      it(`${name}: all tensors at once, in a float64 graph, far closer`, async () => {
        const flat = testParameters(config);
        const contexts = contextsFor(config, flat);
        const gradient = flatOutput(
          config,
          await trainingOutputs(kind, config, flat, contexts, 'float64'),
          gradientName,
        );
        for (const draw of range(DIRECTIONS)) {
          const stream = testStream('direction of all', draw);
          const direction = Float64Array.from(flat, (_, index) => stream.normal(index));
          const expected = slope(kind, config, contexts, moved(flat, direction));
          const got = along(gradient, direction);
          assert.ok(Math.abs(got - expected) <= 1e-6 * Math.abs(expected), `${got} is not ${expected}`);
        }
      });
    }
  });
}

describe('what a training micro-batch reports', () => {
  const flat = testParameters(TINY);
  const contexts = contextsFor(TINY, flat);
  const tokens = tokensOf(TINY, flat, contexts);
  const close = (actual: number, expected: number): void =>
    assert.ok(Math.abs(actual - expected) <= 2e-5 * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);

  it('ppo: loss, KL, clipped share and largest deviation of a ratio', async () => {
    const outputs = await trainingOutputs('ppo', TINY, flat, contexts, 'float32');
    const mean = (of: (token: Token) => number): number => total(tokens.map(of)) / tokens.length;
    const ratio = ({ now, behaviour }: Token): number => Math.exp(now - behaviour);
    const outside = (token: Token): number => (Math.abs(ratio(token) - 1) > 0.2 ? 1 : 0);
    assert.ok(mean(outside) > 0.4 && mean(outside) < 0.7);
    close(item(present(outputs['loss']), 0), lossOf('ppo', tokens));
    close(
      item(present(outputs['kl']), 0),
      mean((token) => ppoTerm({ ...token, advantage: 0 }) / KL),
    );
    close(item(present(outputs['clipped']), 0), mean(outside));
    close(item(present(outputs['deviation']), 0), Math.max(...tokens.map((token) => Math.abs(ratio(token) - 1))));
  });

  it('supervised: the mean negative log-probability', async () => {
    const outputs = await trainingOutputs('supervised', TINY, flat, contexts, 'float32');
    close(item(present(outputs['loss']), 0), -total(tokens.map(({ now }) => now)) / tokens.length);
    assert.deepEqual(
      Object.keys(outputs)
        .filter((name) => !name.startsWith('gradient.'))
        .sort(),
      ['logprobs', 'loss'],
    );
  });

  it('one target: what fills the second row counts nowhere', async () => {
    const one = [{ ...present(contexts[0]), messages: [present(contexts[0]?.messages[1])] }];
    const [token, more] = tokensOf(TINY, flat, one);
    assert.equal(more, undefined);
    const outputs = await trainingOutputs('ppo', TINY, flat, one, 'float32');
    close(item(present(outputs['loss']), 0), ppoTerm(present(token)));
    close(
      item(present(outputs['deviation']), 0),
      Math.abs(Math.exp(present(token).now - present(token).behaviour) - 1),
    );
  });
});
