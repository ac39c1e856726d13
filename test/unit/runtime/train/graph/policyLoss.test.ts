/**
 * Ratios of tokens and of messages, and bounds apart: values by hand, gradients against central differences, and the
 * default as it always was.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Tensor } from 'onnxruntime-node';
import type { FloatType } from '../../../../../src/runtime/graph/graph.ts';
import { parameterFeeds } from '../../../../../src/runtime/model/model.ts';
import { memberFeeds, packContexts, type TrainingContext } from '../../../../../src/runtime/train/graph/pack.ts';
import type { PolicyLoss } from '../../../../../src/runtime/train/graph/policyLoss.ts';
import {
  accumulatedName,
  buildGradientGraph,
  gradientName,
} from '../../../../../src/runtime/train/graph/trainingGraph.ts';
import { Trainer } from '../../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../../src/runtime/train/trainingState.ts';
import { along, contextsFor, KL, lossOf, policyLossOf, TEMPERATURE, tokensOf } from '../../losses.ts';
import { DEVICE, flatOutput, QWEN3, runGraph, RUNNING, scalar, testParameters, TINY } from '../../models.ts';
import { item, present, range, testStream } from '../../nd.ts';

const LOSSES: readonly PolicyLoss[] = [
  { ratio: 'token', clipLow: 0.1, clipHigh: 0.7 },
  { ratio: 'message' },
  { ratio: 'message', clipLow: 0.3, clipHigh: 2 },
  { ratio: 'message-mean', clipHigh: 0.28 },
  { ratio: 'none' },
];

const lengthsOf = (contexts: readonly TrainingContext[]): number[] =>
  contexts.flatMap(({ messages }) => messages.map(({ tokens }) => tokens.length));

async function outputsOf(
  policy: PolicyLoss,
  config: typeof TINY,
  flat: Float32Array,
  contexts: readonly TrainingContext[],
  float: FloatType,
): Promise<Record<string, Float64Array>> {
  const batches = packContexts(config, contexts, 10_000, 1 / tokensOf(config, flat, contexts).length);
  const batch = present(batches[0]);
  assert.equal(batches.length, 1);
  const members =
    policy.ratio === 'message' || policy.ratio === 'message-mean'
      ? memberFeeds(batch, contexts, policy.ratio === 'message-mean')
      : {};
  const nothing = parameterFeeds(config, new Float32Array(flat.length), accumulatedName);
  const feeds = {
    ...nothing,
    ...(batch.feeds as Record<string, Tensor>),
    ...members,
    klCoefficient: scalar(KL),
    temperature: scalar(TEMPERATURE),
  };
  return runGraph(buildGradientGraph(config, { loss: 'ppo', policy, float }), config, flat, feeds);
}

const close = (got: number, expected: number, within: number): void =>
  assert.ok(Math.abs(got - expected) <= within * Math.max(1e-3, Math.abs(expected)), `${got} is not ${expected}`);

describe('the loss of a policy', () => {
  for (const policy of LOSSES) {
    it(`has the value and the gradient that it states: ${JSON.stringify(policy)}`, async () => {
      for (const config of [TINY, QWEN3]) {
        const flat = testParameters(config);
        const contexts = contextsFor(config, flat);
        const lossAt = (parameters: ArrayLike<number>): number =>
          policyLossOf(policy, tokensOf(config, parameters, contexts), lengthsOf(contexts));
        const outputs = await outputsOf(policy, config, flat, contexts, 'float64');
        close(item(present(outputs['loss']), 0), lossAt(flat), 1e-6);
        assert.ok(
          Math.abs(lossAt(flat) - lossOf('ppo', tokensOf(config, flat, contexts))) > 1e-4,
          'it is not the default',
        );
        const gradient = flatOutput(config, outputs, gradientName);
        for (const draw of range(3)) {
          const stream = testStream('direction of all', draw);
          const direction = Float64Array.from(flat, (_, index) => stream.normal(index));
          const at = (distance: number): number =>
            lossAt(Float64Array.from(flat, (value, index) => value + distance * item(direction, index)));
          close(along(gradient, direction), (at(3e-6) - at(-3e-6)) / 6e-6, 1e-5);
        }
      }
    });
  }

  it('is the default, to the byte, where the default is asked for', () => {
    const [left, asked] = [
      buildGradientGraph(TINY, { loss: 'ppo' }),
      buildGradientGraph(TINY, { loss: 'ppo', policy: { ratio: 'token', clipLow: 0.2, clipHigh: 0.2 } }),
    ];
    assert.deepEqual(JSON.stringify(asked), JSON.stringify(left));
  });

  it('is learned by a step, over as many micro-batches as it takes', async (t) => {
    const flat = testParameters(TINY);
    const contexts = contextsFor(TINY, flat);
    const trainer = new Trainer(TINY, DEVICE);
    t.after(() => trainer.release());
    const settings = { loss: 'ppo', learningRate: 1e-3, temperature: TEMPERATURE, klCoefficient: KL } as const;
    const norms = new Set<number>();
    for (const policy of [undefined, ...LOSSES]) {
      for (const microBatchTokens of [2048, 16]) {
        const { loss, gradientNorm } = await trainer.step(
          initialState(flat),
          contexts,
          { ...settings, microBatchTokens, ...(policy !== undefined && { policy }) },
          RUNNING.signal,
        );
        close(loss, policyLossOf(policy ?? {}, tokensOf(TINY, flat, contexts), lengthsOf(contexts)), 1e-4);
        // The first step of AdamW knows the signs of a gradient only, so the gradient itself is compared.
        if (microBatchTokens === 2048) {
          norms.add(gradientNorm);
        }
      }
    }
    assert.equal(norms.size, LOSSES.length + 1);
  });
});
