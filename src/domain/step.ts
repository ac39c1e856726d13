/** A training step: its row, its measures, and the state that its method carries to the next step. */

import type { Json } from './episode.ts';
import type { Ledger } from './run.ts';
import type { StepFigureWords, StepMeasure } from './stepMeasure.ts';
import { TREE_MEASURES } from './treeMeasures.ts';

/**
 * One update of the weights: episodes are sampled, their messages get credit, and the policies learn from it.
 * @term step
 */
export interface Step {
  readonly run: string;
  readonly iteration: number;
  readonly snapshot: string;
  readonly metrics: StepMetrics | null;
  readonly ledger: Ledger;
  readonly episodes: number;
}

export interface StateTensor {
  readonly shape: readonly number[];
  /** Row-major values; the product of `shape` is their number. */
  readonly data: Float32Array;
}

export interface MethodState {
  /** Numbers are finite. */
  readonly json: Json;
  readonly tensors: Readonly<Record<string, StateTensor>>;
}

/** A state as it is stored, with its kind and version. */
export interface StoredMethodState extends MethodState {
  readonly name: string;
  readonly version: number;
}

/** The ranks of the likeliest tokens before an update; the last rank is all other tokens together. */
const RANKS = [1, 2, 3, 4, 5, 6] as const;

type Rank = (typeof RANKS)[number];

/** Number of ranks that hold one token each. */
export const SINGLE_RANKS = RANKS.length - 1;

/** Mean token probabilities by rank before the update; the last is the rest of the vocabulary. */
export interface RankShift {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

interface RankMeasure extends StepMeasure {
  readonly everyStep: false;
  readonly figure: null;
}

type Region = 'Inside' | 'Outside';

type Moment = 'Before' | 'After';

type RankName = `rank${Region}${Moment}${Rank}`;

type TurnsName = `rank${Region}Turns`;

export type RankMeasureName = RankName | TurnsName;

const SIDES: Readonly<Record<Region, string>> = { Inside: 'in the region', Outside: 'out of it' };

/** Names a rank in tables. */
export const formatRank = (rank: number): string => (rank <= SINGLE_RANKS ? `rank ${rank}` : 'all others');

const named = <Name extends RankMeasureName>(name: Name, title: string, written: number): [Name, RankMeasure] => [
  name,
  { title, written, everyStep: false, figure: null },
];

/** For method teamtr with `teamtr.rank_shifts`; updates out of the region are measured before undoing. */
export const RANK_MEASURES = Object.fromEntries(
  (['Inside', 'Outside'] as const).flatMap((region) => [
    named(`rank${region}Turns`, `Updates ${SIDES[region]}`, 0),
    ...RANKS.flatMap((rank) => [
      named(`rank${region}Before${rank}`, `Probability of ${formatRank(rank)} before updates ${SIDES[region]}`, 5),
      named(`rank${region}After${rank}`, `Probability of ${formatRank(rank)} after updates ${SIDES[region]}`, 5),
    ]),
  ]),
) as Readonly<Record<RankMeasureName, RankMeasure>>;

type RankMeasures = Partial<Readonly<Record<RankMeasureName, number>>>;

/** Returns the mean over updates with equal weights, or no measures without updates. */
export function averageRankShifts(region: 'inside' | 'outside', shifts: readonly RankShift[]): RankMeasures {
  if (shifts.length === 0) {
    return {};
  }
  const name = region === 'inside' ? 'Inside' : 'Outside';
  const at = (values: (shift: RankShift) => readonly number[], rank: Rank): number =>
    shifts.reduce((sum, shift) => sum + (values(shift)[rank - 1] ?? 0), 0) / shifts.length;
  return Object.fromEntries([
    [`rank${name}Turns`, shifts.length],
    ...RANKS.flatMap((rank) => [
      [`rank${name}Before${rank}`, at(({ before }) => before, rank)] as const,
      [`rank${name}After${rank}`, at(({ after }) => after, rank)] as const,
    ]),
  ]);
}

/** One rank of all updates of some steps. */
export interface ShownRank {
  readonly region: 'inside' | 'outside';
  /** From 1; the last one is the rest of the vocabulary. */
  readonly rank: number;
  readonly before: number;
  readonly after: number;
  /** Number of updates that the means cover. */
  readonly updates: number;
}

/** Returns the ranks to draw for a run's steps: of updates in the region, then of those out of it. */
export function listShownRanks(steps: readonly RankMeasures[]): readonly ShownRank[] {
  return (['inside', 'outside'] as const).flatMap((region) => {
    const name = region === 'inside' ? 'Inside' : 'Outside';
    const some = steps.filter((step) => (step[`rank${name}Turns`] ?? 0) > 0);
    const updates = some.reduce((sum, step) => sum + (step[`rank${name}Turns`] ?? 0), 0);
    const meanOf = (key: RankName): number =>
      some.reduce((sum, step) => sum + (step[key] ?? 0) * (step[`rank${name}Turns`] ?? 0), 0) / updates;
    return updates === 0
      ? []
      : RANKS.map((rank) => ({
          region,
          rank,
          before: meanOf(`rank${name}Before${rank}`),
          after: meanOf(`rank${name}After${rank}`),
          updates,
        }));
  });
}

interface DriftMeasure extends StepMeasure {
  readonly everyStep: false;
}

/** The turns of roles in a step of method teamtr for which measures of single turns are kept. */
const ROLE_TURNS = [1, 2, 3, 4, 5, 6, 7, 8] as const;

export type RoleTurn = (typeof ROLE_TURNS)[number];

export const MEASURED_ROLE_TURNS: readonly RoleTurn[] = ROLE_TURNS;

const byTurn = <Name extends string>(
  name: Name,
  title: string,
  beside: string,
): Readonly<Record<`${Name}${RoleTurn}`, DriftMeasure>> =>
  Object.fromEntries(
    ROLE_TURNS.map((turn) => [
      `${name}${turn}`,
      { title: `${title}, turn ${turn}`, written: 5, everyStep: false, figure: { beside } },
    ]),
  ) as Readonly<Record<`${Name}${RoleTurn}`, DriftMeasure>>;

/** The KL of each turn's role, listed with the largest KL. */
export const KL_TURN_MEASURES = byTurn('klTurn', 'KL', 'trustRegionKl');

/** Measures in the order in which they are drawn. */
export const DRIFT_MEASURES = {
  /**
   * The stale gap, summed over turns: the surrogate on the episodes from the beginning of the step,
   * minus the surrogate on episodes of the team at that turn. Like all measures below, of method teamtr
   * with `teamtr.diagnostics`.
   */
  staleGap: {
    title: 'Stale gap',
    written: 5,
    everyStep: false,
    figure: { id: 'stale-gap', title: 'Stale gap of the surrogate', unit: 'return', always: [0], digits: 4 },
  },
  staleGapBound: { title: 'Bound on the stale gap', written: 4, everyStep: false, figure: { beside: 'staleGap' } },
  ...byTurn('staleGapTurn', 'Stale gap', 'staleGap'),
  /** Total variation of contexts between each turn and the beginning of the step, summed over turns. */
  occupancyDrift: {
    title: 'Occupancy drift',
    written: 5,
    everyStep: false,
    figure: {
      id: 'occupancy-drift',
      title: 'Occupancy drift within a step',
      unit: 'total variation, sum over turns',
      always: [0],
      digits: 4,
    },
  },
  /** The proxy of the error of advantage estimates, the mean over turns: the sum of the next three. */
  zetaProxy: {
    title: 'Zeta proxy',
    written: 4,
    everyStep: false,
    figure: { id: 'zeta', title: 'Zeta proxy of an update', unit: 'standard deviations', always: [0], digits: 3 },
  },
  zetaClip: { title: 'By clipped advantages', written: 4, everyStep: false, figure: { beside: 'zetaProxy' } },
  zetaRatio: { title: 'By clipped ratios', written: 4, everyStep: false, figure: { beside: 'zetaProxy' } },
  zetaNorm: { title: 'By group statistics', written: 4, everyStep: false, figure: { beside: 'zetaProxy' } },
  /** Error of the KL on a part of the token positions, as a share of the bound. */
  monitorError25: {
    title: 'Error of the KL on 25 % of tokens',
    written: 4,
    everyStep: false,
    figure: { id: 'monitor', title: 'Error of a subsampled KL', unit: 'share of delta', always: [0], digits: 3 },
  },
  monitorError25P90: {
    title: '90th percentile on 25 %',
    written: 4,
    everyStep: false,
    figure: { beside: 'monitorError25' },
  },
  monitorError50: { title: 'On 50 % of tokens', written: 4, everyStep: false, figure: { beside: 'monitorError25' } },
  monitorError50P90: {
    title: '90th percentile on 50 %',
    written: 4,
    everyStep: false,
    figure: { beside: 'monitorError25' },
  },
  /** Share of turns with a KL near the bound that the part of the tokens decides differently. */
  monitorFlips25: { title: 'Flips on 25 %', written: 3, everyStep: false, figure: { beside: 'monitorError25' } },
  monitorFlips50: { title: 'Flips on 50 %', written: 3, everyStep: false, figure: { beside: 'monitorError25' } },
} as const satisfies Readonly<Record<string, StepMeasure>>;

export type DriftMeasureName = keyof typeof DRIFT_MEASURES | keyof typeof KL_TURN_MEASURES;

/** Turns of an episode with measures of their own reward ladders; later turns have none. */
const TURNS = [1, 2, 3, 4] as const;

/** The levels of the reward ladder, and all of them together. */
const LEVELS = [
  { key: 'Total', title: 'Normalized total' },
  { key: 'Structure', title: 'Structure' },
  { key: 'Syntax', title: 'Syntax' },
  { key: 'Tests', title: 'Tests' },
  { key: 'Cooperation', title: 'Cooperation' },
] as const;

export type MeasuredTurn = (typeof TURNS)[number];

export type LadderLevel = (typeof LEVELS)[number]['key'];

/** The numbers of joint actions of a node for which pass@k is measured. */
const SAMPLES = [1, 2, 3, 4, 5, 6, 7, 8] as const;

export type MeasuredSamples = (typeof SAMPLES)[number];

export type TurnMeasureName = `turn${MeasuredTurn}${LadderLevel | `PassAt${MeasuredSamples}`}`;

interface TurnMeasure extends StepMeasure {
  readonly everyStep: false;
}

/**
 * Measures of runs that the reward ladder scores: the mean share of a level's points that joint
 * actions of a turn got, and pass@k for k joint actions of a node.
 */
const TURN_MEASURES = Object.fromEntries(
  TURNS.flatMap((turn) => [
    ...LEVELS.map(({ key, title }): [TurnMeasureName, TurnMeasure] => [
      `turn${turn}${key}`,
      {
        title: `${title}, turn ${turn}`,
        written: 3,
        everyStep: false,
        figure: {
          id: `turn-${turn}-${key.toLowerCase()}`,
          title: `${title}, turn ${turn}`,
          unit: 'share of the points',
          always: [0, 1],
          digits: 2,
        },
      },
    ]),
    ...SAMPLES.map((samples): [TurnMeasureName, TurnMeasure] => [
      `turn${turn}PassAt${samples}`,
      {
        title: `pass@${samples}, turn ${turn}`,
        written: 3,
        everyStep: false,
        figure:
          samples === 1
            ? {
                id: `turn-${turn}-pass`,
                title: `All tests passed, turn ${turn}`,
                unit: 'pass@1',
                always: [0, 1],
                digits: 2,
              }
            : { beside: `turn${turn}PassAt1` satisfies TurnMeasureName },
      },
    ]),
  ]),
) as Readonly<Record<TurnMeasureName, TurnMeasure>>;

export const MEASURED_TURNS: readonly MeasuredTurn[] = TURNS;

export const MEASURED_SAMPLES: readonly MeasuredSamples[] = SAMPLES;

/** Measures by the keys under which steps are stored and printed, in the order in which they are drawn. */
export const STEP_MEASURES = {
  meanReturn: {
    title: 'Mean return',
    written: 3,
    everyStep: true,
    figure: { id: 'return', title: 'Mean return', unit: 'return', always: [0, 1], digits: 2 },
  },
  ...TURN_MEASURES,
  kl: {
    title: 'KL',
    written: 5,
    everyStep: true,
    figure: { id: 'kl', title: 'KL to the starting policy', unit: 'nats per token', always: [0, 0.001], digits: 4 },
  },
  /** For steps whose loss penalizes a divergence other than k3 from the starting policy. */
  penalty: {
    title: 'Penalized KL',
    written: 5,
    everyStep: false,
    figure: { id: 'penalty', title: 'Penalized KL', unit: 'nats per token', always: [0, 0.001], digits: 4 },
  },
  clipFraction: {
    title: 'Clip fraction',
    written: 4,
    everyStep: true,
    figure: { id: 'clip', title: 'Clip fraction', unit: 'share of tokens', always: [0, 0.01], digits: 4 },
  },
  /** Share of tokens, over all passes, whose gradient the clip cut off. Absent in older runs. */
  effectiveClip: {
    title: 'Effective clip',
    written: 4,
    everyStep: false,
    figure: { id: 'effective-clip', title: 'Effective clip', unit: 'share of tokens', always: [0, 0.01], digits: 4 },
  },
  /** Share of tokens in messages with nonzero credit, among all tokens that are learned from. */
  signal: {
    title: 'Tokens with a signal',
    written: 3,
    everyStep: false,
    figure: { id: 'signal', title: 'Tokens with a signal', unit: 'share of tokens', always: [0, 1], digits: 2 },
  },
  /** For method teamtr: the KL of messages of the role that moved farthest in the step. */
  trustRegionKl: {
    title: 'Trust-region KL',
    written: 5,
    everyStep: false,
    figure: { id: 'trust-region', title: 'Largest KL of a role', unit: 'nats per message', always: [0], digits: 4 },
  },
  ...KL_TURN_MEASURES,
  /** For method teamtr: the sum over roles, measured on the episodes that each role learned from. */
  surrogateGain: {
    title: 'Surrogate gain',
    written: 5,
    everyStep: false,
    figure: {
      id: 'surrogate',
      title: 'Surrogate gain of the roles',
      unit: 'standard deviations',
      always: [0],
      digits: 4,
    },
  },
  /** For method teamtr: the weight at the end of the step, the mean over the roles. */
  klWeight: {
    title: 'Weight of the KL penalty',
    written: 4,
    everyStep: false,
    figure: { id: 'kl-weight', title: 'Weight of the KL penalty', unit: 'weight', always: [0], digits: 3 },
  },
  /** For method teamtr: share of roles whose KL exceeded the bound, so that their updates were undone. */
  outOfRegion: {
    title: 'Out of region',
    written: 3,
    everyStep: false,
    figure: { id: 'out-of-region', title: 'Updates out of region', unit: 'share of roles', always: [0, 1], digits: 2 },
  },
  /** For method teamtr, as those below: of episodes by importance weights, the least over the turns. */
  effectiveSample: {
    title: 'Effective sample size',
    written: 3,
    everyStep: false,
    figure: {
      id: 'effective-sample',
      title: 'Effective sample size after an update',
      unit: 'share of episodes',
      always: [0, 1],
      digits: 2,
    },
  },
  /** Over the turns of the step, as for the percentiles. */
  largestWeight: {
    title: 'Largest importance weight',
    written: 3,
    everyStep: false,
    figure: { id: 'largest-weight', title: 'Largest importance weight', unit: 'weight', always: [0, 1], digits: 2 },
  },
  weightP95: { title: '95th percentile', written: 3, everyStep: false, figure: { beside: 'largestWeight' } },
  weightP99: { title: '99th percentile', written: 3, everyStep: false, figure: { beside: 'largestWeight' } },
  heavyWeights: { title: 'Share above 10', written: 3, everyStep: false, figure: { beside: 'largestWeight' } },
  /** For all updates together, as an L1 distance of discounted occupancies, which is at most 2. */
  occupancyShift: {
    title: 'Bound on the occupancy shift',
    written: 4,
    everyStep: false,
    figure: {
      id: 'occupancy-shift',
      title: 'Bound on the occupancy shift',
      unit: 'L1, vacuous from 2',
      always: [0, 2],
      digits: 2,
    },
  },
  /** Lower bound of the return's improvement by the step's updates, in its units; a diagnostic. */
  certificate: {
    title: 'Certificate',
    written: 4,
    everyStep: false,
    figure: { id: 'certificate', title: 'Certified improvement (diagnostic)', unit: 'return', always: [0], digits: 3 },
  },
  confidentCertificate: {
    title: 'With high probability',
    written: 4,
    everyStep: false,
    figure: { beside: 'certificate' },
  },
  /** 1 if the certificate is no tighter than the bound on advantages alone, else 0. */
  vacuousCertificate: { title: 'Vacuous (1: yes)', written: 0, everyStep: false, figure: { beside: 'certificate' } },
  /** Mean over the updates before the last sampling of the step; their improvement is measured. */
  comparedCertificate: {
    title: 'Certificate of measured updates',
    written: 4,
    everyStep: false,
    figure: { beside: 'measuredImprovement' },
  },
  measuredImprovement: {
    title: 'Measured improvement',
    written: 4,
    everyStep: false,
    figure: {
      id: 'measured-improvement',
      title: 'Measured improvement within a step',
      unit: 'return',
      always: [0],
      digits: 3,
    },
  },
  ...DRIFT_MEASURES,
  ...RANK_MEASURES,
  loss: {
    title: 'Loss',
    written: 4,
    everyStep: true,
    figure: { id: 'loss', title: 'Loss', unit: 'loss', always: [], digits: 4 },
  },
  /** For methods with a value head: the loss before the step. */
  valueLoss: { title: 'Loss of the value head', written: 4, everyStep: false, figure: { beside: 'loss' } },
  /** For methods with a value head: share of the return variance that the credits' values explain. */
  explainedVariance: {
    title: 'Explained variance',
    written: 3,
    everyStep: false,
    figure: { id: 'explained', title: 'Explained variance', unit: 'share of variance', always: [0, 0.2], digits: 2 },
  },
  learningRate: { title: 'Learning rate', written: 6, everyStep: true, figure: { beside: 'loss' } },
  /**
   * For method ccpo, as are the six below: the running mean of returns minus solo returns, or of the
   * change of the return by a voter, the mean over voters.
   */
  contribution: {
    title: 'Contribution of a role',
    written: 4,
    everyStep: false,
    figure: {
      id: 'contribution',
      title: 'Contribution of the thinker or of voters, running mean',
      unit: 'return',
      always: [-0.1, 0.1],
      digits: 3,
    },
  },
  contributionDeviation: {
    title: 'Deviation of the contribution',
    written: 4,
    everyStep: false,
    figure: { beside: 'contribution' },
  },
  jointReturn: { title: 'Return, running mean', written: 4, everyStep: false, figure: { beside: 'soloReturn' } },
  jointDeviation: { title: 'Deviation of the return', written: 4, everyStep: false, figure: { beside: 'soloReturn' } },
  soloReturn: {
    title: 'Solo return, running mean',
    written: 4,
    everyStep: false,
    figure: { id: 'solo', title: 'Solo return, running mean', unit: 'return', always: [0, 1], digits: 2 },
  },
  soloDeviation: {
    title: 'Deviation of the solo return',
    written: 4,
    everyStep: false,
    figure: { beside: 'soloReturn' },
  },
  /** Weight of the solver's return with the thinker, relative to its return without. */
  gate: {
    title: 'Gate of the solver',
    written: 4,
    everyStep: false,
    figure: { id: 'gate', title: 'Gate of the solver', unit: 'weight of the joint return', always: [0, 1], digits: 2 },
  },
  ...TREE_MEASURES,
  gradientNorm: {
    title: 'Gradient norm',
    written: 3,
    everyStep: true,
    figure: { id: 'gradient', title: 'Gradient norm', unit: 'norm', always: [0], digits: 2 },
  },
  /** Disagreement of sampler and trainer at the first update after sampling. */
  ratioDeviation: { title: 'Deviation of the ratio from 1', written: 6, everyStep: true, figure: null },
  creditVariance: { title: 'Variance of credit', written: 4, everyStep: true, figure: null },
  generateSeconds: { title: 'Sampling', written: 'duration', everyStep: true, figure: null },
  trainSeconds: { title: 'Training', written: 'duration', everyStep: true, figure: null },
} as const satisfies Readonly<Record<string, StepMeasure>>;

export type StepMeasureName = keyof typeof STEP_MEASURES;

const isStepMeasure = (key: string): key is StepMeasureName => Object.hasOwn(STEP_MEASURES, key);

export const STEP_MEASURE_NAMES: readonly StepMeasureName[] = Object.keys(STEP_MEASURES).filter(isStepMeasure);

type OnEveryStep<Name extends StepMeasureName> = (typeof STEP_MEASURES)[Name]['everyStep'] extends true ? Name : never;

type EveryStep = { [Name in StepMeasureName]: OnEveryStep<Name> }[StepMeasureName];

/** The measures of one training iteration, by key. The mean return is null without an episode. */
export type StepMetrics = Readonly<
  { meanReturn: number | null } & Record<Exclude<EveryStep, 'meanReturn'>, number> &
    Partial<Record<Exclude<StepMeasureName, EveryStep>, number>>
>;

/** Measures of a step that its method computes itself. */
export type OwnMeasures = Pick<
  StepMetrics,
  | 'trustRegionKl'
  | 'surrogateGain'
  | 'klWeight'
  | 'outOfRegion'
  | 'effectiveSample'
  | 'largestWeight'
  | 'weightP95'
  | 'weightP99'
  | 'heavyWeights'
  | 'occupancyShift'
  | 'certificate'
  | 'confidentCertificate'
  | 'vacuousCertificate'
  | 'comparedCertificate'
  | 'measuredImprovement'
  | DriftMeasureName
  | RankMeasureName
>;

/** Returns the measure's own figure, or null if another figure lists it or it has none. */
export function findFigureWords(name: StepMeasureName): StepFigureWords | null {
  const { figure }: StepMeasure = STEP_MEASURES[name];
  return figure === null || 'beside' in figure ? null : figure;
}

/** Returns the measures that are listed with the figure of this one. */
export const listMeasuresBeside = (name: StepMeasureName): readonly StepMeasureName[] =>
  STEP_MEASURE_NAMES.filter((other) => {
    const { figure }: StepMeasure = STEP_MEASURES[other];
    return figure !== null && 'beside' in figure && figure.beside === name;
  });
