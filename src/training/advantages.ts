/** From credited groups to training tuples. */
import { mean, populationVariance } from '../credit/describe.ts';
import { groupNormalise } from '../credit/groupNormalise.ts';
import type { TrainingContext } from '../runtime/pack.ts';
import type { TrainingMessage } from '../store/types.ts';

/** One sampling group as the optimiser learns from it: the alternatives of one context. */
export interface LearningGroup {
  /** Whose messages they are, by event type. */
  readonly agent: string;
  readonly prompt: Int32Array;
  readonly messages: readonly Pick<TrainingMessage, 'tokens' | 'logprobs' | 'credit'>[];
}

/**
 * One training context per group: its prompt once, every credited message with one advantage for all of its tokens (C3 equation 15).
 * A message whose credit is null (all of its returns masked, or nothing to compare it with) is left out; a group without credited messages vanishes.
 */
export function trainingContexts(groups: readonly LearningGroup[], normalise: boolean): TrainingContext[] {
  return groups.flatMap(({ agent, prompt, messages }) => {
    const credited = messages.filter(({ credit }) => credit !== null);
    if (credited.length === 0) return [];
    const raw = creditsOf({ messages });
    const values = normalise ? groupNormalise(raw) : raw;
    return [
      {
        agent,
        prompt,
        messages: credited.map(({ tokens, logprobs }, index) => ({
          tokens,
          behaviour: logprobs,
          reference: new Float32Array(tokens.length),
          advantages: new Float32Array(tokens.length).fill(values[index] ?? 0),
        })),
      },
    ];
  });
}

const creditsOf = ({ messages }: Pick<LearningGroup, 'messages'>): number[] => messages.flatMap(({ credit }) => (credit === null ? [] : [credit]));

/** The contexts with the reference policy's log-probabilities, given per context and message. */
export function withReference(contexts: readonly TrainingContext[], reference: readonly (readonly Float32Array[])[]): TrainingContext[] {
  return contexts.map((context, index) => ({
    ...context,
    messages: context.messages.map((message, number) => ({ ...message, reference: reference[index]?.[number] ?? message.reference })),
  }));
}

/**
 * KL as shaping: token t's advantage loses beta times the sum of k1 = log(behaviour / reference) over t and the tokens after it
 * (the undiscounted return of per-token penalties, gamma = 1).
 */
export function shapeWithK1(contexts: readonly TrainingContext[], beta: number): TrainingContext[] {
  return contexts.map((context) => ({
    ...context,
    messages: context.messages.map((message) => {
      const advantages = message.advantages.slice();
      let penalty = 0;
      for (let index = advantages.length - 1; index >= 0; index--) {
        penalty += beta * ((message.behaviour[index] ?? 0) - (message.reference[index] ?? 0));
        advantages[index] = (advantages[index] ?? 0) - penalty;
      }
      return { ...message, advantages };
    }),
  }));
}

/** Mean within-group population variance of the credits (C3 section 5.3, within-context variance). */
export function creditVariance(groups: readonly LearningGroup[]): number {
  const variances = groups.flatMap((group) => {
    const values = creditsOf(group);
    return values.length < 2 ? [] : [populationVariance(values)];
  });
  return variances.length === 0 ? 0 : mean(variances);
}
