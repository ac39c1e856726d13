/** Cohesion of a team during training (TeamTR reference section 6): coordination, drift, stability. Pure. */

import type { Interval } from '../domain/credit.ts';
import { measureStability } from '../domain/stepRows.ts';
import { bootstrap, bootstrapMean } from './statistics/bootstrap.ts';

/** One episode of a question: the last answers of the roles that spoke, null for no answer. */
export interface AnsweredEpisode {
  readonly answers: readonly (string | null)[];
  readonly solved: boolean;
}

/**
 * Returns coordination: the share of questions on which all roles agree on the correct answer. A role
 * whose message states no answer agrees with no other. The common answer is correct if the episode is
 * solved.
 * @param questions the episodes of each, averaged; questions without episodes are left out
 * @returns its 95 % bootstrap interval over questions; null if no episode has answers of two roles
 */
export function measureCoordination(questions: readonly (readonly AnsweredEpisode[])[], seed = 0): Interval | null {
  const several = ({ answers }: AnsweredEpisode): boolean => answers.filter((one) => one !== null).length > 1;
  if (!questions.some((episodes) => episodes.some(several))) {
    return null;
  }
  const agreed = ({ answers, solved }: AnsweredEpisode): boolean =>
    solved && answers.length > 1 && answers[0] !== null && answers.every((one) => one === answers[0]);
  return bootstrapMean(
    questions.flatMap((episodes) =>
      episodes.length === 0 ? [] : [episodes.filter((one) => agreed(one)).length / episodes.length],
    ),
    seed,
  );
}

/**
 * Returns the total variation of two samples by the plug-in estimate: half the L1 distance of the
 * shares of each context. Two finite samples of one distribution differ, too.
 */
export function pluginVariation(some: readonly string[], others: readonly string[]): number {
  const shares = new Map<string, number>();
  const add = (keys: readonly string[], sign: 1 | -1): void => {
    for (const key of keys) {
      shares.set(key, (shares.get(key) ?? 0) + sign / keys.length);
    }
  };
  add(some, 1);
  add(others, -1);
  return [...shares.values()].reduce((sum, one) => sum + Math.abs(one), 0) / 2;
}

/** One context of an episode of a stage. `group` is a role at one question; each group is split evenly. */
export interface SeenContext {
  readonly group: string;
  readonly key: string;
}

/**
 * D_occ of steps: the sum, over the stages after the first, of the total variation of their contexts
 * from the first's.
 */
export interface ContextDrift {
  /** The plug-in estimate on halves of the stages' samples. */
  readonly plugIn: Interval;
  /** The same between two halves of the first stage, which one policy sampled: the value by chance alone. */
  readonly samePolicy: Interval;
  /** The difference of both, paired by step. */
  readonly excess: Interval;
}

/**
 * Measures the drift of contexts within steps.
 * @param steps the contexts of each stage in the order in which they were sampled
 * @returns bootstrap intervals over the steps with two stages or more; null without one
 */
export function measureContextDrift(
  steps: readonly (readonly (readonly SeenContext[])[])[],
  seed = 0,
): ContextDrift | null {
  const measured = steps.flatMap((stages) => {
    const [first, ...later] = stages.map(splitContexts).filter(([one, other]) => one.length > 0 && other.length > 0);
    if (first === undefined || later.length === 0) {
      return [];
    }
    const [own, same] = first;
    const plugIn = later.reduce((sum, [, other]) => sum + pluginVariation(other, own), 0);
    return [{ plugIn, samePolicy: later.length * pluginVariation(same, own) }];
  });
  const [plugIn, samePolicy, excess] = [
    bootstrapMean(
      measured.map((one) => one.plugIn),
      seed,
    ),
    bootstrapMean(
      measured.map((one) => one.samePolicy),
      seed,
    ),
    bootstrapMean(
      measured.map((one) => one.plugIn - one.samePolicy),
      seed,
    ),
  ];
  return plugIn === null || samePolicy === null || excess === null ? null : { plugIn, samePolicy, excess };
}

/**
 * Puts every other context of each group into each half, so that both have equally many of every
 * question and role.
 */
function splitContexts(contexts: readonly SeenContext[]): readonly [string[], string[]] {
  const seen = new Map<string, number>();
  const found: [string[], string[]] = [[], []];
  for (const { group, key } of contexts) {
    const place = seen.get(group) ?? 0;
    seen.set(group, place + 1);
    found[place % 2 === 0 ? 0 : 1].push(key);
  }
  return found;
}

/**
 * Returns stability of training with its 95 % bootstrap interval over gains; n counts the gains.
 * @param returns of the steps in order
 * @returns null with fewer than two gains
 */
export function estimateStability(returns: readonly (number | null)[], seed = 0): Interval | null {
  const gains = returns.slice(1).flatMap((value, index): [number, number][] => {
    const before = returns[index] ?? null;
    return value === null || before === null ? [] : [[before, value]];
  });
  // The null separates each gain from the next one.
  return bootstrap(gains, (drawn) => measureStability(drawn.flatMap((gain) => [null, ...gain])), seed);
}
