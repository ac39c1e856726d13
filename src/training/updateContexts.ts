/** The contexts that an update learns from, with the weights of their messages in its loss. */

import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import type { RunConfig } from './config/config.ts';
import { applyEpisodeWeights } from './importance.ts';
import { applyLossWeights, scaleToMessageMean } from './lossWeights.ts';
import type { MiniBatch, PolicyUpdate } from './methods/method.ts';
import { shuffleItems } from './shuffled.ts';
import type { StageMessages } from './stageMessages.ts';

type Sampled = Pick<StageMessages, 'contexts' | 'origins'>;

/** Selects the contexts of an update. */
type Where = Pick<PolicyUpdate, 'roles' | 'node' | 'weights'>;

/** Returns the contexts of some roles, all of them or a mini-batch. */
export function selectContexts(
  { batch, ...where }: Where & Pick<PolicyUpdate, 'batch'>,
  sampled: Sampled,
): readonly TrainingContext[] {
  const own = selectPlaces(where, sampled);
  return batch === undefined ? own : selectMiniBatch(own, batch);
}

/** Returns the contexts of some roles or of one node, with the weights of their episodes applied. */
function selectPlaces({ roles, node, weights }: Where, { contexts, origins }: Sampled): readonly TrainingContext[] {
  const own = contexts.filter(
    (one) =>
      (roles === undefined || (one.role !== undefined && roles.includes(one.role))) &&
      (node === undefined || one.node === node),
  );
  return weights === undefined ? own : applyEpisodeWeights(own, origins, weights);
}

/**
 * Returns the contexts of an update with the weights of their messages in the loss, before its
 * penalty, and the factor of the penalty's coefficient.
 * @param whole true if the update learns from all of them; weights may be left out then, and all
 *   tokens have the same weight
 */
export function weighContexts(
  config: Pick<RunConfig, 'ppo' | 'adapter'>,
  update: PolicyUpdate,
  sampled: Sampled,
  whole: boolean,
): { readonly contexts: readonly TrainingContext[]; readonly length: number } {
  const { batch, weight: unit } = update;
  if (update.perMessage === true) {
    const { contexts, length } = scaleToMessageMean(selectContexts(update, sampled));
    return { contexts: applyLossWeights(config, contexts, { whole, unit: 'token' }), length };
  }
  const counted = applyLossWeights(config, selectPlaces(update, sampled), { parts: batch?.of ?? 1, whole, unit });
  return { contexts: batch === undefined ? counted : selectMiniBatch(counted, batch), length: 1 };
}

/**
 * Returns the contexts of a mini-batch. The pass goes through all contexts in a random order, each
 * whole, so that a prompt is read once and messages stay beside those that they were compared with.
 */
export function selectMiniBatch<Context>(
  contexts: readonly Context[],
  { index, of, count = 1, draw }: MiniBatch,
): Context[] {
  const order = shuffleItems([...contexts.keys()], draw);
  const edge = (number: number): number => Math.floor((number * contexts.length) / of);
  const members = new Set(order.slice(edge(index), edge(index + count)));
  return contexts.filter((_, place) => members.has(place));
}
