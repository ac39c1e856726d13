/** From credited groups to training tuples. */
import { mean, populationVariance } from '../credit/describe.ts';
import { groupNormalise } from '../credit/groupNormalise.ts';
import type { TrainingContext, TrainingMessage } from '../runtime/train/graph/pack.ts';
import type { TrainingMessage as StoredMessage } from '../store/types.ts';

/** One sampling group as the optimiser learns from it: the alternatives of one context. */
export interface LearningGroup {
  /** Groups of the same name were compared with each other; left out: with no other. */
  readonly group?: string;
  /** Whose messages they are. */
  readonly role: string;
  /** At which node of a rollout tree, where there is one. */
  readonly node?: string;
  readonly prompt: Int32Array;
  readonly messages: readonly Pick<StoredMessage, 'tokens' | 'logprobs' | 'credit'>[];
}

/**
 * One training context per group: its prompt once, every credited message with one advantage for all of its tokens (C3
 * equation 15). A message whose credit is null (all of its returns masked, or nothing to compare it with) is left out;
 * a group without credited messages vanishes.
 * @param normalise z-scores the credits of all that was compared with each other
 * @param once whether equal messages of a context with one advantage are learned from at once: it is the same gradient
 */
export function trainingContexts(
  groups: readonly LearningGroup[],
  normalise: boolean,
  once = false,
): TrainingContext[] {
  const valuesOf = advantagesOf(groups, normalise);
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
    return [{ ...place, prompt, messages: once ? copiesCounted(taught) : taught }];
  });
}

/** Each of equal messages once, with how many they are. */
function copiesCounted(messages: readonly TrainingMessage[]): TrainingMessage[] {
  const equals = Map.groupBy(
    messages,
    ({ tokens, advantages: [advantage] }) => `${String(advantage)} ${tokens.join()}`,
  );
  return [...equals.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [same.length === 1 ? first : { ...first, copies: same.length }];
  });
}

/** What advantages are taken from. */
type CreditedGroup = Pick<LearningGroup, 'group'> & { readonly messages: readonly Pick<StoredMessage, 'credit'>[] };

/**
 * The advantages of the credited messages of each group, in order.
 * @param normalise z-scores the credits of all that was compared with each other
 */
export function advantagesOf(
  groups: readonly CreditedGroup[],
  normalise: boolean,
): (group: CreditedGroup) => readonly number[] {
  const scaled = normalise ? normalisedCredits(groups) : undefined;
  return (group) => scaled?.get(group) ?? creditsOf(group);
}

/** The scaled credits of each group, in order. */
function normalisedCredits(groups: readonly CreditedGroup[]): ReadonlyMap<CreditedGroup, readonly number[]> {
  const found = new Map<CreditedGroup, readonly number[]>();
  for (const members of compared(groups)) {
    const values = groupNormalise(members.flatMap(creditsOf));
    let start = 0;
    for (const member of members) {
      const { length } = creditsOf(member);
      found.set(member, values.slice(start, start + length));
      start += length;
    }
  }
  return found;
}

/** Groups by what was compared with each other. */
const compared = (groups: readonly CreditedGroup[]): CreditedGroup[][] => [
  ...Map.groupBy(groups, (one) => one.group ?? one).values(),
];

const creditsOf = ({ messages }: Pick<CreditedGroup, 'messages'>): number[] =>
  messages.flatMap(({ credit }) => (credit === null ? [] : [credit]));

/** The contexts with the reference policy's log-probabilities, given per context and message. */
export function withReference(
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
 * KL as shaping: token t's advantage loses beta times the sum of k1 = log(behaviour / reference) over t and the tokens
 * after it (the undiscounted return of per-token penalties, gamma = 1).
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
 * Mean population variance of the credits of what was compared with each other (C3 section 5.3, within-context
 * variance).
 */
export function creditVariance(groups: readonly CreditedGroup[]): number {
  const variances = compared(groups).flatMap((members) => {
    const values = members.flatMap(creditsOf);
    return values.length < 2 ? [] : [populationVariance(values)];
  });
  return variances.length === 0 ? 0 : mean(variances);
}
