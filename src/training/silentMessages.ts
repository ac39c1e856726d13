/** Silent messages, whose advantage is 0 at every token, and the work that an update does for them. */

import type { KlPenalty } from '../runtime/train/graph/klTerm.ts';
import type { TrainingContext, TrainingMessage } from '../runtime/train/graph/pack.ts';
import type { RunConfig } from './config/config.ts';

/**
 * learned: like all others, for the gradient of the KL penalty. weightless: they keep their places, with
 * a weight of 0. dropped: they are left out. dropped after shaping: a penalty first changes advantages.
 * unpenalized: they are left out, and a role without other messages learns from none.
 */
export type SilentTreatment = 'learned' | 'weightless' | 'dropped' | 'dropped after shaping' | 'unpenalized';

/**
 * Chooses the least work for silent messages. The gradient of min(r A, clip(r) A) is 0 at any ratio if
 * A is 0, so only the penalty can move them. The gradient of k3,
 *
 *   d/dlogp (exp(d) - d - 1) = 1 - exp(d),    d = reference - logp
 *
 * is 0 to the bit where d is 0. The places of messages decide the order of sums, so there only
 * weightless messages keep every bit of the weights.
 * @param atReference true if the current policy is the reference to the bit, and sampled the messages
 */
export function chooseSilentTreatment(
  { skip_zero_credit: skips, kl_on: on }: Pick<RunConfig['ppo'], 'skip_zero_credit' | 'kl_on'>,
  { coefficient, estimator }: Pick<KlPenalty, 'coefficient' | 'estimator'>,
  atReference: boolean,
): SilentTreatment {
  if (coefficient !== 0 && on === 'credited') {
    return 'unpenalized';
  }
  if (!skips) {
    return 'learned';
  }
  if (coefficient === 0) {
    return 'dropped';
  }
  if (estimator === 'k1') {
    return 'dropped after shaping';
  }
  return estimator === 'k3' && atReference ? 'weightless' : 'learned';
}

/** Returns the contexts of an update before its penalty. Loss weights must be set before. */
export function treatSilentMessages(
  contexts: readonly TrainingContext[],
  treatment: SilentTreatment,
): readonly TrainingContext[] {
  switch (treatment) {
    case 'learned':
    case 'dropped after shaping':
      return contexts;
    case 'weightless':
      return contexts.map((context) => ({
        ...context,
        messages: context.messages.map((message) => (hasSignal(message) ? message : { ...message, weight: 0 })),
      }));
    case 'dropped':
      return keepSignal(contexts);
    case 'unpenalized':
      return keepSignal(contexts, 0);
  }
}

/** Returns true if a message has an advantage other than 0. */
const hasSignal = ({ advantages }: Pick<TrainingMessage, 'advantages'>): boolean =>
  advantages.some((advantage) => advantage !== 0);

/**
 * Returns the contexts without silent messages. Each role keeps at least one context, so that its
 * optimizer still takes the step that its moments ask for. Loss weights must be set before, because
 * they depend on the number of all messages.
 * @param kept the number of silent messages of a role that has no others
 */
export function keepSignal(contexts: readonly TrainingContext[], kept = 1): TrainingContext[] {
  const teaching = contexts.flatMap((context) => {
    const messages = context.messages.filter(hasSignal);
    return messages.length === 0 ? [] : [{ ...context, messages }];
  });
  const taught = new Set(teaching.map(({ role }) => role));
  const others = [...Map.groupBy(contexts, ({ role }) => role)].flatMap(([role, [first]]) =>
    taught.has(role) || first === undefined ? [] : [{ ...first, messages: first.messages.slice(0, kept) }],
  );
  return [...teaching, ...others];
}
