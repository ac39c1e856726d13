/** Turns credited groups of messages into training contexts. */

import { mean, populationVariance } from '../credit/describe.ts';
import { groupNormalize } from '../credit/groupNormalise.ts';
import type { TrainingContext, TrainingMessage } from '../runtime/train/graph/pack.ts';
import type { TrainingMessage as StoredMessage } from '../store/types.ts';

/** One sampling group that the optimizer learns from: the alternatives of one context. */
export interface LearningGroup {
  /** Groups with the same name were compared with each other; without one, only within the group. */
  readonly group?: string;
  readonly role: string;
  /** The node of a rollout tree, if the group comes from one. */
  readonly node?: string;
  readonly prompt: Int32Array;
  readonly messages: readonly Pick<StoredMessage, 'tokens' | 'logprobs' | 'credit'>[];
}

/**
 * Returns one training context per group: the prompt once, and every credited message with one
 * advantage for all of its tokens (C3 equation 15). Leaves out messages without a credit (all returns
 * masked, or nothing to compare with) and groups without credited messages.
 * @param normalise turns credits into z-scores over the groups that were compared with each other
 * @param once learns equal messages of a context with the same advantage only once, with a count; the
 *   gradient is the same
 */
export function makeTrainingContexts(
  groups: readonly LearningGroup[],
  normalise: boolean,
  once = false,
): TrainingContext[] {
  const valuesOf = makeAdvantageLookup(groups, normalise);
  return groups.flatMap((group) => {
    const { role, node, prompt, messages } = group;
    const credited = messages.filter(({ credit }) => credit !== null);
    if (credited.length === 0) {
      return [];
    }
    const values = valuesOf(group);
    const taught = credited.map(({ tokens, logprobs }, index) => ({
      tokens,
      behaviour: logprobs,
      reference: new Float32Array(tokens.length),
      advantages: new Float32Array(tokens.length).fill(values[index] ?? 0),
    }));
    const place = { role, ...(node !== undefined && { node }) };
    return [{ ...place, prompt, messages: once ? mergeCopies(taught) : taught }];
  });
}

/** Merges equal messages into one with a count of copies. */
function mergeCopies(messages: readonly TrainingMessage[]): TrainingMessage[] {
  const equals = Map.groupBy(
    messages,
    ({ tokens, advantages: [advantage] }) => `${String(advantage)} ${tokens.join()}`,
  );
  return [...equals.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [same.length === 1 ? first : { ...first, copies: same.length }];
  });
}

/** The part of a group that advantages are computed from. */
type CreditedGroup = Pick<LearningGroup, 'group'> & { readonly messages: readonly Pick<StoredMessage, 'credit'>[] };

/**
 * Returns a function that gives the advantages of the credited messages of a group, in order.
 * @param normalise turns credits into z-scores over the groups that were compared with each other
 */
export function makeAdvantageLookup(
  groups: readonly CreditedGroup[],
  normalise: boolean,
): (group: CreditedGroup) => readonly number[] {
  const scaled = normalise ? normalizeCredits(groups) : undefined;
  return (group) => scaled?.get(group) ?? listGroupCredits(group);
}

function normalizeCredits(groups: readonly CreditedGroup[]): ReadonlyMap<CreditedGroup, readonly number[]> {
  const found = new Map<CreditedGroup, readonly number[]>();
  for (const members of groupCompared(groups)) {
    const values = groupNormalize(members.flatMap(listGroupCredits));
    let start = 0;
    for (const member of members) {
      const { length } = listGroupCredits(member);
      found.set(member, values.slice(start, start + length));
      start += length;
    }
  }
  return found;
}

/** Collects the groups that were compared with each other. */
const groupCompared = (groups: readonly CreditedGroup[]): CreditedGroup[][] => [
  ...Map.groupBy(groups, (one) => one.group ?? one).values(),
];

const listGroupCredits = ({ messages }: Pick<CreditedGroup, 'messages'>): number[] =>
  messages.flatMap(({ credit }) => (credit === null ? [] : [credit]));

/** Returns the contexts with the reference policy's log-probabilities, given per context and message. */
export function addReference(
  contexts: readonly TrainingContext[],
  reference: readonly (readonly Float32Array[])[],
): TrainingContext[] {
  return contexts.map((context, index) => ({
    ...context,
    messages: context.messages.map((message, number) => ({
      ...message,
      reference: reference[index]?.[number] ?? message.reference,
    })),
  }));
}

/**
 * Applies KL as reward shaping: the advantage of token t loses beta times the sum of k1 =
 * log(behaviour / reference) over t and the tokens after it (the undiscounted return of per-token
 * penalties, gamma = 1).
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

/**
 * Returns the mean population variance of the credits that were compared with each other (C3 section
 * 5.3, within-context variance).
 */
export function creditVariance(groups: readonly CreditedGroup[]): number {
  const variances = groupCompared(groups).flatMap((members) => {
    const values = members.flatMap(listGroupCredits);
    return values.length < 2 ? [] : [populationVariance(values)];
  });
  return variances.length === 0 ? 0 : mean(variances);
}
