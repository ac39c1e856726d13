/** The losses of a training micro-batch, written out in float64 on the reference transformer. */

import assert from 'node:assert/strict';
import type { Tensor } from 'onnxruntime-node';
import type { TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import { packContexts, type TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import type { PolicyLoss } from '../../../src/runtime/train/graph/policyLoss.ts';
import type { LossKind } from '../../../src/runtime/train/graph/trainingGraph.ts';
import { messageLogprobs } from '../../support/referenceTransformer.ts';
import { context, scalar, weightsOf } from './models.ts';
import { item, present, total } from './nd.ts';

export const TEMPERATURE = 0.75;
export const KL = 0.125;
/** One token of the loss: log-probability now, when sampled and under the reference policy, and the advantage. */
export interface Token {
  readonly now: number;
  readonly behaviour: number;
  readonly reference: number;
  readonly advantage: number;
}

/** PPO with clipping at 0.2 and beta times k3, as C3's Appendix D states them. */
export function ppoTerm({ now, behaviour, reference, advantage }: Token): number {
  const ratio = Math.exp(now - behaviour);
  const clipped = Math.min(1.2, Math.max(0.8, ratio));
  const difference = Math.min(10, Math.max(-10, reference - now));
  return -Math.min(ratio * advantage, clipped * advantage) + KL * (Math.exp(difference) - difference - 1);
}

/** Every token of the contexts under the given parameters, each message alone. */
export function tokensOf(
  config: TransformerConfig,
  parameters: ArrayLike<number>,
  contexts: readonly TrainingContext[],
): Token[] {
  const weights = weightsOf(config, parameters);
  return contexts.flatMap(({ prompt, messages }) =>
    messages.flatMap(({ tokens, behaviour, reference, advantages }) =>
      messageLogprobs(config, weights, prompt, tokens, TEMPERATURE).map((now, index) => ({
        now,
        behaviour: item(behaviour, index),
        reference: item(reference, index),
        advantage: item(advantages, index),
      })),
    ),
  );
}

/** PPO with a ratio of each token or of its message, and bounds of its own. @param lengths tokens of each message */
export function policyLossOf(
  { ratio: unit = 'token', clipLow = 0.2, clipHigh = 0.2 }: PolicyLoss,
  tokens: readonly Token[],
  lengths: readonly number[],
): number {
  let first = 0;
  const terms = lengths.flatMap((length) => {
    const message = tokens.slice(first, first + length);
    first += length;
    const sum = total(message.map(({ now, behaviour }) => now - behaviour));
    return message.map(({ now, behaviour, reference, advantage }) => {
      const logRatio =
        unit === 'token' ? now - behaviour : Math.min(10, Math.max(-10, unit === 'message' ? sum : sum / length));
      const ratio = Math.exp(logRatio);
      const clipped = Math.min(1 + clipHigh, Math.max(1 - clipLow, ratio));
      const difference = Math.min(10, Math.max(-10, reference - now));
      const surrogate = unit === 'none' ? now * advantage : Math.min(ratio * advantage, clipped * advantage);
      return -surrogate + KL * (Math.exp(difference) - difference - 1);
    });
  });
  return total(terms) / tokens.length;
}

export const lossOf = (kind: LossKind, tokens: readonly Token[]): number =>
  total(tokens.map((token) => (kind === 'ppo' ? ppoTerm(token) : -token.now))) / tokens.length;

/**
 * Log-ratios inside the clip range and on both sides of it, with advantages of both signs, so that the surrogate is
 * flat for some tokens and steep for others; reference policies nearby, and one beyond the cut of the log-ratio.
 */
const LOG_RATIOS = [0.05, 0.5, -0.5, 0.5, -0.5, -0.1, 0];
const ADVANTAGES = [1, 1, -1, -1, 1, -0.5, 0.75];
const REFERENCE_GAPS = [0.3, -0.4, -11.5, 1.1, 0, -0.2];

export function contextsFor(config: TransformerConfig, flat: Float32Array): TrainingContext[] {
  let position = 0;
  return [context('a', 5, 4, 1, 3), context('b', 2, 6), context('c', 8, 2, 3)].map(({ prompt, messages }) => ({
    prompt,
    messages: messages.map(({ tokens }) => {
      const now = messageLogprobs(config, weightsOf(config, flat), prompt, tokens, TEMPERATURE);
      const first = position;
      position += tokens.length;
      const cycle = (values: readonly number[], index: number): number => item(values, (first + index) % values.length);
      return {
        tokens,
        behaviour: Float32Array.from(now, (value, index) => value - cycle(LOG_RATIOS, index)),
        reference: Float32Array.from(now, (value, index) => value + cycle(REFERENCE_GAPS, index)),
        advantages: Float32Array.from(now, (_, index) => cycle(ADVANTAGES, index)),
      };
    }),
  }));
}

/** Everything that a gradient graph of a loss reads beside parameters. @param weight of a target in the loss */
export function feedsOf(
  kind: LossKind,
  config: TransformerConfig,
  contexts: readonly TrainingContext[],
  weight = 1 / 16,
): Record<string, Tensor> {
  const batches = packContexts(config, contexts, 10_000, weight);
  assert.equal(batches.length, 1);
  const { behaviour, reference, advantages, ...rest } = present(batches[0]).feeds as Record<string, Tensor>;
  const ppo = {
    behaviour: present(behaviour),
    reference: present(reference),
    advantages: present(advantages),
    klCoefficient: scalar(KL),
  };
  return { ...rest, ...(kind === 'ppo' && ppo), temperature: scalar(TEMPERATURE) };
}

/** So small that no token crosses a bound of the clip on the way. */
const STEP = 3e-6;

/** (L(p + h d) - L(p - h d)) / 2h in float64. @param at the model's parameters a distance along the direction */
export function slope(
  kind: LossKind,
  config: TransformerConfig,
  contexts: readonly TrainingContext[],
  at: (distance: number) => ArrayLike<number>,
): number {
  const lossAt = (distance: number): number => lossOf(kind, tokensOf(config, at(distance), contexts));
  return (lossAt(STEP) - lossAt(-STEP)) / (2 * STEP);
}

/** The derivative that a gradient says a direction has. */
export const along = (gradient: Float64Array, direction: Float64Array): number =>
  total(gradient.map((value, index) => value * item(direction, index)));
