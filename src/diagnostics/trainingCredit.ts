/**
 * Whether the credit that updates learned from is what messages are worth: its correlation with the target advantage
 *
 *   Q(h, a) - V(h)
 *
 * the mean return of message a continued in its context h, less that of messages that the policy says there. It is
 * estimated from pairs of fresh replays, of the message itself and of a fresh alternative, which no credit knows.
 */
import { hasSpread, mean, populationVariance } from '../credit/describe.ts';
import type { Interval } from '../domain/credit.ts';
import { bootstrap } from './statistics/bootstrap.ts';
import { pearson, type Pair } from './statistics/rank.ts';

/** A message that was learned from, with replays that its credit does not know. */
export interface TargetedMessage {
  /** Of its question: messages of one question are resampled together. */
  readonly problem: string;
  /** Equal for the messages of one context. */
  readonly context: string;
  /** What the update learned from. */
  readonly credit: number;
  /** Returns of the message continued and of a fresh alternative continued; null where the evaluator failed. */
  readonly pairs: readonly (readonly [own: number | null, other: number | null])[];
}

export interface TrainingCreditFidelity {
  /** Pearson's correlation of credit and estimated target, which the noise of the replays makes smaller. */
  readonly correlation: Interval | null;
  /**
   * The same over the root of `reliability`: of credit and the target itself. It may come out above 1. Null where the
   * reliability is not above 0.
   */
  readonly disattenuated: Interval | null;
  /** The share of the variance of estimated targets that is no noise: the covariance of their halves over it. */
  readonly reliability: number | null;
  /** Why there is no correlation, one sentence; null where there is one. */
  readonly degenerate: string | null;
  readonly problems: number;
  readonly contexts: number;
  readonly messages: number;
  /** Pairs whose both returns were measured. */
  readonly pairs: number;
  /** Messages left out: none of their pairs was measured. */
  readonly leftOut: number;
}

/** A message as the statistics take it. */
interface Estimate extends Pick<TargetedMessage, 'credit'> {
  readonly target: number;
  /** The means over its even and its odd pairs; null with fewer than two pairs. */
  readonly halves: Pair | null;
}

/**
 * The correlation over the messages of all contexts; its intervals are a bootstrap over questions.
 * @throws nothing: what cannot be estimated is null
 */
export function trainingCreditFidelity(messages: readonly TargetedMessage[], seed = 0): TrainingCreditFidelity {
  const measured = messages.flatMap((message) => {
    const differences = message.pairs.flatMap(([own, other]) => (own === null || other === null ? [] : [own - other]));
    return differences.length === 0 ? [] : [{ ...message, differences }];
  });
  const questions = [...Map.groupBy(measured, ({ problem }) => problem).values()].map((own) =>
    own.map(({ credit, differences }) => ({ credit, ...targetOf(differences) })),
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
    correlation: over(correlationOf),
    disattenuated: over((drawn) => {
      const [found, share] = [correlationOf(drawn), reliabilityOf(drawn)];
      return found === null || share === null || share <= 0 ? null : found / Math.sqrt(share);
    }),
    reliability: reliabilityOf(estimates),
    degenerate: degenerateWords(estimates),
    problems: questions.length,
    contexts: new Set(measured.map(({ context }) => context)).size,
    messages: measured.length,
    pairs: measured.reduce((sum, { differences }) => sum + differences.length, 0),
    leftOut: messages.length - measured.length,
  };
}

function targetOf(differences: readonly number[]): Omit<Estimate, 'credit'> {
  const half = (parity: number): number[] => differences.filter((_, index) => index % 2 === parity);
  return { target: mean(differences), halves: differences.length < 2 ? null : [mean(half(0)), mean(half(1))] };
}

const correlationOf = (estimates: readonly Estimate[]): number | null =>
  pearson(estimates.map(({ credit, target }) => [credit, target]));

/** Null where no two messages have halves, or all estimated targets are equal. */
function reliabilityOf(estimates: readonly Estimate[]): number | null {
  const split = estimates.flatMap(({ target, halves }) => (halves === null ? [] : [{ target, halves }]));
  const variance = split.length < 2 ? 0 : populationVariance(split.map(({ target }) => target));
  if (!(variance > 0)) {
    return null;
  }
  const [first, second] = [mean(split.map(({ halves }) => halves[0])), mean(split.map(({ halves }) => halves[1]))];
  return mean(split.map(({ halves }) => (halves[0] - first) * (halves[1] - second))) / variance;
}

function degenerateWords(estimates: readonly Estimate[]): string | null {
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
