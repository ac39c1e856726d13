/**
 * What a run that credits by removal (CCPO) learned from, read from the store: credits by the outcome of an episode
 * with and without the thinker, beside what a shared return would have credited; the team with and without the thinker;
 * and what each role contributed so far.
 */
import { mean } from '../credit/describe.ts';
import { meanInterval, student } from '../credit/interval.ts';
import type { Interval } from '../domain/credit.ts';
import {
  contributionsIn,
  MOST_ROLLOUTS,
  REMOVAL_STATE,
  removalOutcomes,
  removalRollouts,
  type OutcomeCredits,
  type RemovalRollout,
} from '../domain/stepRows.ts';
import type { StoreReader } from '../store/types.ts';
import { pairingReport, type PairingReport } from './pairings.ts';

/** The running mean of what a role contributed. */
export interface ContributionCurve {
  readonly role: string;
  readonly points: readonly { readonly step: number; readonly mean: number; readonly deviation: number }[];
}

/** Mean returns over the questions of training, each of the rollouts of its step. */
export interface WithAndWithout {
  readonly team: Interval;
  readonly without: Interval;
  /** Of pairs: the same questions in the same steps. */
  readonly difference: Interval;
  /** What the solo rollouts took beside the episodes that are learned from. */
  readonly overhead: {
    readonly rollouts: number;
    readonly tokens: number;
    readonly soloTokens: number;
    /** Of sampling in these steps; solo rollouts took about their share of the tokens of it. */
    readonly seconds: number;
  };
}

export interface RemovalReport {
  /** Empty for a team that votes: it has no solo rollouts. */
  readonly outcomes: readonly OutcomeCredits[];
  /** Rollouts behind them, and those of other returns than 0 and 1, which are in none. */
  readonly rollouts: number;
  readonly others: number;
  readonly contributions: readonly ContributionCurve[];
  /** The team with and without the thinker; null for a team that votes. */
  readonly thinker: WithAndWithout | null;
  /** Where the store has runs alike with other models. */
  readonly pairings?: PairingReport;
}

/** Reads it; null for a run that credits otherwise. */
export function removalReport(store: StoreReader, run: string): RemovalReport | null {
  const steps = store.countSteps(run);
  const contributions = contributionsOf(store, run, steps);
  if (contributions.length === 0) {
    return null;
  }
  const found: RemovalRollout[][] = [];
  let seconds = 0;
  const total = steps * store.countEpisodes({ run, phase: 'train', iteration: 1 });
  const stride = Math.max(1, Math.ceil(total / MOST_ROLLOUTS));
  for (let iteration = 1; iteration <= steps; iteration += stride) {
    found.push(removalRollouts(store, run, iteration));
    seconds += store.steps(run, iteration - 1, 1)[0]?.metrics?.generateSeconds ?? 0;
  }
  const together = removalOutcomes(found.flat());
  const pairings = pairingReport(store, run);
  return {
    outcomes: together?.outcomes ?? [],
    rollouts: together?.rollouts ?? 0,
    others: together?.others ?? 0,
    contributions,
    thinker: withAndWithout(found, seconds),
    ...(pairings !== null && { pairings }),
  };
}

/** @param steps their rollouts @param seconds of sampling */
function withAndWithout(steps: readonly (readonly RemovalRollout[])[], seconds: number): WithAndWithout | null {
  const questions = steps.flatMap((rollouts) => [...Map.groupBy(rollouts, ({ problem }) => problem).values()]);
  const of = (valueOf: (rollout: RemovalRollout) => number): number[] => questions.map((own) => mean(own.map(valueOf)));
  const team = meanInterval(of(({ joint }) => joint));
  const without = meanInterval(of(({ solo }) => solo));
  const difference = student(of(({ joint, solo }) => joint - solo));
  const all = steps.flat();
  const overhead = {
    rollouts: all.length,
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
    soloTokens: all.reduce((sum, { soloTokens }) => sum + soloTokens, 0),
    seconds,
  };
  return team === null || without === null || difference === null ? null : { team, without, difference, overhead };
}

/** From the state that each step left; of voters one curve each, else that of the thinker. */
function contributionsOf(store: StoreReader, run: string, steps: number): ContributionCurve[] {
  const curves = new Map<string, { step: number; mean: number; deviation: number }[]>();
  for (let step = 1; step <= steps; step++) {
    const state = store.methodState(run, step);
    for (const { role, ...point } of state?.name === REMOVAL_STATE ? contributionsIn(state.json) : []) {
      const points = curves.get(role) ?? [];
      points.push({ step, ...point });
      curves.set(role, points);
    }
  }
  return [...curves].map(([role, points]) => ({ role, points }));
}
