/**
 * The fidelity of training credit: its correlation with the target advantage
 *
 *   Q(h, a) - V(h)
 *
 * This is the mean return of message a continued in its context h, minus that of the policy's own
 * messages there. It is estimated from pairs of fresh replays, one of the message itself and one of a
 * fresh alternative, which no credit used.
 */

import { hasSpread, mean, populationVariance } from '../credit/describe.ts';
import type { Interval } from '../domain/credit.ts';
import { bootstrap } from './statistics/bootstrap.ts';
import { pearson, type Pair } from './statistics/rank.ts';

/** A message that was learned from, with replays that its credit did not use. */
export interface TargetedMessage {
  /** The uid of its question: messages of one question are resampled together. */
  readonly problem: string;
  /** Equal for the messages of one context. */
  readonly context: string;
  /** The credit that the update learned from. */
  readonly credit: number;
  /** Returns of the continued message and of a continued fresh alternative; null if the evaluator failed. */
  readonly pairs: readonly (readonly [own: number | null, other: number | null])[];
}

export interface TrainingCreditFidelity {
  /** Pearson's correlation of credit and estimated target; the noise of the replays reduces it. */
  readonly correlation: Interval | null;
  /**
   * `correlation` divided by the root of `reliability`: the correlation with the target itself. It may
   * exceed 1. Null if the reliability is not above 0.
   */
  readonly disattenuated: Interval | null;
  /**
   * The share of the variance of estimated targets that is not noise: the covariance of their halves
   * divided by the variance.
   */
  readonly reliability: number | null;
  /** The reason in one sentence why there is no correlation, or null if there is one. */
  readonly degenerate: string | null;
  readonly problems: number;
  readonly contexts: number;
  readonly messages: number;
  /** Pairs in which both returns were measured. */
  readonly pairs: number;
  /** Messages that are left out because none of their pairs was measured. */
  readonly leftOut: number;
}

/** A message as the input of the statistics. */
interface Estimate extends Pick<TargetedMessage, 'credit'> {
  readonly target: number;
  /** The means over its even and its odd pairs; null with fewer than two pairs. */
  readonly halves: Pair | null;
}

/**
 * Returns the correlation over the messages of all contexts, with bootstrap intervals over questions.
 * Statistics that cannot be estimated are null.
 */
export function measureTrainingCredit(messages: readonly TargetedMessage[], seed = 0): TrainingCreditFidelity {
  const measured = messages.flatMap((message) => {
    const differences = message.pairs.flatMap(([own, other]) => (own === null || other === null ? [] : [own - other]));
    return differences.length === 0 ? [] : [{ ...message, differences }];
  });
  const questions = [...Map.groupBy(measured, ({ problem }) => problem).values()].map((own) =>
    own.map(({ credit, differences }) => ({ credit, ...estimateTarget(differences) })),
  );
  const over = (statistic: (estimates: readonly Estimate[]) => number | null): Interval | null =>
    bootstrap(
      questions,
      (drawn) => statistic(drawn.flat()),
      seed,
      (own) => own.length,
    );
  const estimates = questions.flat();
  return {
    correlation: over(correlateCredits),
    disattenuated: over((drawn) => {
      const [found, share] = [correlateCredits(drawn), estimateTargetReliability(drawn)];
      return found === null || share === null || share <= 0 ? null : found / Math.sqrt(share);
    }),
    reliability: estimateTargetReliability(estimates),
    degenerate: explainDegenerate(estimates),
    problems: questions.length,
    contexts: new Set(measured.map(({ context }) => context)).size,
    messages: measured.length,
    pairs: measured.reduce((sum, { differences }) => sum + differences.length, 0),
    leftOut: messages.length - measured.length,
  };
}

function estimateTarget(differences: readonly number[]): Omit<Estimate, 'credit'> {
  const half = (parity: number): number[] => differences.filter((_, index) => index % 2 === parity);
  return { target: mean(differences), halves: differences.length < 2 ? null : [mean(half(0)), mean(half(1))] };
}

const correlateCredits = (estimates: readonly Estimate[]): number | null =>
  pearson(estimates.map(({ credit, target }) => [credit, target]));

/** Returns the reliability, or null if no two messages have halves or all estimated targets are equal. */
function estimateTargetReliability(estimates: readonly Estimate[]): number | null {
  const split = estimates.flatMap(({ target, halves }) => (halves === null ? [] : [{ target, halves }]));
  const variance = split.length < 2 ? 0 : populationVariance(split.map(({ target }) => target));
  if (!(variance > 0)) {
    return null;
  }
  const [first, second] = [mean(split.map(({ halves }) => halves[0])), mean(split.map(({ halves }) => halves[1]))];
  return mean(split.map(({ halves }) => (halves[0] - first) * (halves[1] - second))) / variance;
}

function explainDegenerate(estimates: readonly Estimate[]): string | null {
  if (estimates.length < 2) {
    return 'Fewer than two messages have a measured pair.';
  }
  if (!hasSpread(estimates.map(({ credit }) => credit))) {
    return 'All credits are equal, so that nothing correlates with them.';
  }
  return hasSpread(estimates.map(({ target }) => target))
    ? null
    : 'All estimated targets are equal, so that nothing correlates with them.';
}
