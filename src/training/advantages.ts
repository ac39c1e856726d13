/** From credited groups to training tuples. */
import { mean, populationVariance } from '../credit/describe.ts';
import { groupNormalise } from '../credit/groupNormalise.ts';
import type { CreditedGroup } from '../replay/record.ts';
import type { TrainingContext } from '../runtime/pack.ts';

/**
 * One training context per group: its prompt once, every credited message with one advantage for all of its tokens (C3 equation 15).
 * A message whose credit is null (all of its returns masked, or nothing to compare it with) is left out; a group without credited messages vanishes.
 */
export function trainingContexts(groups: readonly CreditedGroup[], normalise: boolean): TrainingContext[] {
  return groups.flatMap(({ nodes, credits }) => {
    const credited = nodes.flatMap((node, index) => {
      const credit = credits[index];
      return credit === null || credit === undefined ? [] : [{ node, value: credit.value }];
    });
    const first = credited[0];
    if (first === undefined) return [];
    const raw = credited.map(({ value }) => value);
    const values = normalise ? groupNormalise(raw) : raw;
    return [
      {
        prompt: first.node.answer.prompt,
        messages: credited.map(({ node }, index) => ({
          tokens: node.answer.tokens,
          behaviour: node.answer.logprobs,
          reference: new Float32Array(node.answer.tokens.length),
          advantages: new Float32Array(node.answer.tokens.length).fill(values[index] ?? 0),
        })),
      },
    ];
  });
}

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
export function creditVariance(groups: readonly CreditedGroup[]): number {
  const variances = groups.flatMap(({ credits }) => {
    const values = credits.flatMap((credit) => (credit === null ? [] : [credit.value]));
    return values.length < 2 ? [] : [populationVariance(values)];
  });
  return variances.length === 0 ? 0 : mean(variances);
}
