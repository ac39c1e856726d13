/**
 * Reports the training data of a run that credits by removal (CCPO) from the store: credits by the
 * outcome of an episode with and without the thinker, beside the credits of a shared return; the team
 * with and without the thinker; and the contribution of each role so far.
 */

import { mean } from '../credit/describe.ts';
import { meanInterval, studentInterval } from '../credit/interval.ts';
import type { Interval } from '../domain/credit.ts';
import { readSection, parseStoredRecipe } from '../domain/run.ts';
import {
  readContributions,
  MOST_ROLLOUTS,
  REMOVAL_STATE,
  summarizeRemovals,
  listRemovalRollouts,
  type OutcomeCredits,
  type RemovalRollout,
  findRoleModel,
  groupTeamPairings,
  readRoleModels,
  type TeamContributions,
} from '../domain/stepRows.ts';
import { isRecord } from '../shared/guard.ts';
import type { StoreReader } from '../store/types.ts';

/** The running mean of a role's contribution. */
export interface ContributionCurve {
  readonly role: string;
  readonly points: readonly { readonly step: number; readonly mean: number; readonly deviation: number }[];
}

/** Mean returns over the training questions, each a mean over the rollouts of its step. */
export interface WithAndWithout {
  readonly team: Interval;
  readonly without: Interval;
  /** Paired differences: the same questions in the same steps. */
  readonly difference: Interval;
  /** The cost of the solo rollouts, in addition to the episodes that are learned from. */
  readonly overhead: {
    readonly rollouts: number;
    readonly tokens: number;
    readonly soloTokens: number;
    /** Seconds of sampling in these steps. Solo rollouts took about their share of its tokens. */
    readonly seconds: number;
  };
}

export interface RemovalReport {
  /** Empty for a team that votes, which has no solo rollouts. */
  readonly outcomes: readonly OutcomeCredits[];
  /** The number of rollouts in `outcomes`, and of those with other returns than 0 and 1. */
  readonly rollouts: number;
  readonly others: number;
  readonly contributions: readonly ContributionCurve[];
  /** The team with and without the thinker, or null for a team that votes. */
  readonly thinker: WithAndWithout | null;
  /** Present if the store has similar runs with other models. */
  readonly pairings?: PairingReport;
}

/** Reads the report. Returns null for a run with another kind of credit. */
export function removalReport(store: StoreReader, run: string): RemovalReport | null {
  const steps = store.countSteps(run);
  const contributions = readContributionCurves(store, run, steps);
  if (contributions.length === 0) {
    return null;
  }
  const found: RemovalRollout[][] = [];
  let seconds = 0;
  const total = steps * store.countEpisodes({ run, phase: 'train', iteration: 1 });
  const stride = Math.max(1, Math.ceil(total / MOST_ROLLOUTS));
  for (let iteration = 1; iteration <= steps; iteration += stride) {
    found.push(listRemovalRollouts(store, run, iteration));
    seconds += store.steps(run, iteration - 1, 1)[0]?.metrics?.generateSeconds ?? 0;
  }
  const together = summarizeRemovals(found.flat());
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

/**
 * Compares the team with and without the thinker.
 * @param steps the rollouts of each step
 * @param seconds of sampling
 */
function withAndWithout(steps: readonly (readonly RemovalRollout[])[], seconds: number): WithAndWithout | null {
  const questions = steps.flatMap((rollouts) => [...Map.groupBy(rollouts, ({ problem }) => problem).values()]);
  const of = (valueOf: (rollout: RemovalRollout) => number): number[] => questions.map((own) => mean(own.map(valueOf)));
  const team = meanInterval(of(({ joint }) => joint));
  const without = meanInterval(of(({ solo }) => solo));
  const difference = studentInterval(of(({ joint, solo }) => joint - solo));
  const all = steps.flat();
  const overhead = {
    rollouts: all.length,
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
    soloTokens: all.reduce((sum, { soloTokens }) => sum + soloTokens, 0),
    seconds,
  };
  return team === null || without === null || difference === null ? null : { team, without, difference, overhead };
}

/** Reads contributions from the state after each step, for each voter or for the thinker. */
function readContributionCurves(store: StoreReader, run: string, steps: number): ContributionCurve[] {
  const curves = new Map<string, { step: number; mean: number; deviation: number }[]>();
  for (let step = 1; step <= steps; step++) {
    const state = store.methodState(run, step);
    for (const { role, ...point } of state?.name === REMOVAL_STATE ? readContributions(state.json) : []) {
      const points = curves.get(role) ?? [];
      points.push({ step, ...point });
      curves.set(role, points);
    }
  }
  return [...curves].map(([role, points]) => ({ role, points }));
}

// Contributions of each role in teams of other models. The run is compared with the runs of its
// store that differ only in models and seed, and have equally many steps.

type Reader = Pick<StoreReader, 'run' | 'runs' | 'runConfig' | 'methodState' | 'stepCredits'>;

/** The contribution of one role in one pairing, over its runs. */
interface PairingContribution {
  /** The numbers of the roles' models, in their order. */
  readonly pairing: string;
  readonly role: string;
  readonly model: string;
  /** The mean over runs. It has no interval if there is only one run. */
  readonly contribution: Interval;
}

interface PairingReport {
  /** Names of models. The first one is number 1. */
  readonly models: readonly string[];
  readonly steps: number;
  readonly runs: number;
  readonly contributions: readonly PairingContribution[];
}

/** The most runs that are compared, newest first. */
const MOST_RUNS = 200;
/** Settings in which compared runs may differ. */
const FREE = new Set(['title', 'seed', 'model', 'policies', 'output', 'device']);
const FREE_POLICIES = new Set<unknown>(['model', 'snapshot', 'adapter']);

/** Returns what compared configurations share, or null for a row that cannot be read. */
function readComparableConfig(runConfig: string): string | null {
  const recipe = parseStoredRecipe(runConfig);
  if (!isRecord(recipe['config'])) {
    return null;
  }
  const config = readSection(recipe, 'config');
  const policies = Object.entries(readSection(config, 'policies'));
  const kept = policies.filter(([, policy]) => !isRecord(policy) || !FREE_POLICIES.has(policy['kind']));
  const settings = Object.entries(config).filter(([key]) => !FREE.has(key));
  return JSON.stringify([recipe['protocolText'], settings.sort(([a], [b]) => (a < b ? -1 : 1)), kept]);
}

/**
 * Reads the report.
 * @returns null if fewer than two models are compared
 */
export function pairingReport(store: Reader, id: string): PairingReport | null {
  const { steps, method } = store.run(id);
  const own = readComparableConfig(store.runConfig(id));
  if (own === null || steps === 0) {
    return null;
  }
  const others = store
    .runs(0, MOST_RUNS)
    .filter((one) => one.id !== id && one.method === method && one.steps === steps)
    .map((one) => one.id)
    .filter((one) => readComparableConfig(store.runConfig(one)) === own);
  const { models, pairings } = groupTeamPairings(
    [id, ...others].map((run) => readTeamContributions(store, run, steps)),
  );
  return models.length < 2
    ? null
    : {
        models,
        steps,
        runs: pairings.reduce((sum, { teams }) => sum + teams.length, 0),
        contributions: pairings.flatMap(({ label, teams }) => listPairingContributions(label, teams)),
      };
}

function readTeamContributions(store: Reader, run: string, step: number): TeamContributions {
  const state = store.methodState(run, step);
  return {
    run,
    models: readRoleModels(store.runConfig(run)),
    roles: store.stepCredits(run, step).roles.map(({ role }) => role),
    contributions: state?.name === REMOVAL_STATE ? readContributions(state.json) : [],
  };
}

function listPairingContributions(
  pairing: string,
  teams: readonly TeamContributions[],
): readonly PairingContribution[] {
  const [first] = teams;
  return (first?.contributions ?? []).flatMap(({ role }): PairingContribution[] => {
    const means = teams.flatMap(({ contributions }) =>
      contributions.filter((one) => one.role === role).map(({ mean }) => mean),
    );
    const contribution = studentInterval(means);
    // In a team of thinker and solver only the thinker, which speaks first, is measured.
    const of = first?.roles.includes(role) === true ? role : first?.roles[0];
    return first === undefined || contribution === null
      ? []
      : [{ pairing, role, model: findRoleModel(first.models, of ?? role), contribution }];
  });
}
