/** The places that `c3 bench rho-map` measures, and their settings. */

import type { MapPlace } from './mapTable.ts';

export type Keys = Readonly<Record<string, unknown>>;

/** Places that are compared with each other and have the same seeds. */
export interface MapRow {
  readonly places: readonly MapPlace[];
  readonly seeds: readonly number[];
}

/** The settings of a map. They are the same for both methods. */
export interface MapScale {
  /** Rows in the order of measuring. Each row is measured seed by seed. */
  readonly rows: readonly MapRow[];
  /**
   * Learning rates that each method tries at each rho, with a team of two whose dealer does not
   * learn. A single rate is used without a search.
   */
  readonly rates: readonly number[];
  /** Seeds of the search of the learning rate, which are not seeds of the map. */
  readonly searchSeeds: readonly number[];
  /** Configuration keys of all runs. */
  readonly run: Keys;
  /** Additional configuration keys by team size. */
  readonly teams: Readonly<Record<number, Keys>>;
  readonly pilot: { readonly questions: number; readonly alternatives: number; readonly replays: number };
  /** Steps for the noise of the player's gradient, with a team of two that does not learn. */
  readonly noiseSteps: number;
}

/**
 * Larger teams sample along a spine: with eight calls, a nested fan-out gives the messages after
 * the first three no siblings. The predicted variance ratios depend on the fan-outs.
 */
const TEAMS: MapScale['teams'] = {
  2: { shape: 'nested', fanout: [2, 4] },
  3: { shape: 'spine', fanout: [2, 2, 2] },
  4: { shape: 'spine', fanout: [2, 2, 2, 1] },
  6: { shape: 'spine', fanout: [2, 2, 2, 1, 1, 1] },
};
const LEVELS = [1, 2, 3, 4];
/** The ends of the range of rho, which show a trend best. */
const ENDS = [1, 4];
const BETWEEN = [2, 3];
/** Levels of the comparison game, in which the dealer can learn all that its message decides. */
const LEARNED_LEVELS = [5, 6, 7, 8];
const COMMON: Keys = {
  steps: 32,
  instances_per_step: 16,
  evaluator_budget: 8,
  'evaluation.instances': 128,
  'evaluation.samples': 4,
  'credit.common_random_numbers': false,
  'credit.merge_contexts': true,
  'credit.lone_messages': 'parent',
  'ppo.loss_weight': 'role',
  'ppo.kl_coefficient': 0,
  'device.threads': 1,
};

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const row = (
  levels: readonly number[],
  teams: readonly number[],
  { learns, seeds }: { readonly learns: boolean; readonly seeds: number },
): MapRow => ({
  places: teams.flatMap((roles) => levels.map((level) => ({ level, roles, learns }))),
  seeds: upTo(seeds),
});
/** Slopes of single runs vary by 7 points per doubling of rho: 24 seeds show a trend of 4. */
const FROZEN = { learns: false, seeds: 24 };
/** The intervals of 8 seeds are twice as wide as those of 24. */
const LEARNING = { learns: true, seeds: 8 };

/** The most informative rows come first, in case the measurement is stopped. */
export const FULL: MapScale = {
  rows: [
    row(ENDS, [2], FROZEN),
    row(ENDS, [3], FROZEN),
    row(ENDS, [4], FROZEN),
    row(LEVELS, [2], LEARNING),
    row(LEARNED_LEVELS, [2], LEARNING),
    row(ENDS, [6], FROZEN),
    row(BETWEEN, [2], FROZEN),
    row(BETWEEN, [3], FROZEN),
    row(BETWEEN, [4], FROZEN),
    row(BETWEEN, [6], FROZEN),
    row(ENDS, [3, 4, 6], LEARNING),
  ],
  rates: [3e-4, 1e-3, 3e-3],
  searchSeeds: [1000, 1001, 1002, 1003],
  run: COMMON,
  teams: TEAMS,
  pilot: { questions: 128, alternatives: 8, replays: 8 },
  noiseSteps: 32,
};
export const QUICK: MapScale = {
  ...FULL,
  rows: [row(LEVELS, [2], { learns: false, seeds: 2 })],
  rates: [1e-3],
  run: { ...COMMON, steps: 10, instances_per_step: 8, 'evaluation.instances': 64 },
  pilot: { questions: 32, alternatives: 6, replays: 4 },
  noiseSteps: 4,
};
