/**
 * What each role contributed to teams of other models: the run beside the runs of its store that differ from it in
 * models and seed alone, and have as many steps.
 */
import { student } from '../credit/interval.ts';
import type { Interval } from '../domain/credit.ts';
import { sectionOf, storedRecipe } from '../domain/run.ts';
import {
  modelOf,
  pairingsOf,
  roleModels,
  contributionsIn,
  REMOVAL_STATE,
  type TeamContributions,
} from '../domain/stepRows.ts';
import { isRecord } from '../shared/guard.ts';
import type { StoreReader } from '../store/types.ts';

type Reader = Pick<StoreReader, 'run' | 'runs' | 'runConfig' | 'methodState' | 'stepCredits'>;

/** Of one role in one pairing, over its runs. */
export interface PairingContribution {
  /** The numbers of the models of the roles, in their order. */
  readonly pairing: string;
  readonly role: string;
  readonly model: string;
  /** The mean over runs; its interval is missing where there is one run. */
  readonly contribution: Interval;
}

export interface PairingReport {
  /** The first one is number 1. */
  readonly models: readonly string[];
  readonly steps: number;
  readonly runs: number;
  readonly contributions: readonly PairingContribution[];
}

/** Runs that are looked at, newest first. */
const MOST_RUNS = 200;
/** What runs of one comparison may differ in. */
const FREE = new Set(['title', 'seed', 'model', 'policies', 'output', 'device']);
const FREE_POLICIES = new Set<unknown>(['model', 'snapshot', 'adapter']);

/** What is the same for runs that are compared; null for a row that cannot be read. */
function likeness(runConfig: string): string | null {
  const recipe = storedRecipe(runConfig);
  if (!isRecord(recipe['config'])) {
    return null;
  }
  const config = sectionOf(recipe, 'config');
  const policies = Object.entries(sectionOf(config, 'policies'));
  const kept = policies.filter(([, policy]) => !isRecord(policy) || !FREE_POLICIES.has(policy['kind']));
  const settings = Object.entries(config).filter(([key]) => !FREE.has(key));
  return JSON.stringify([recipe['protocolText'], settings.sort(([a], [b]) => (a < b ? -1 : 1)), kept]);
}

/** @returns null where fewer than two models are compared */
export function pairingReport(store: Reader, id: string): PairingReport | null {
  const { steps, method } = store.run(id);
  const own = likeness(store.runConfig(id));
  if (own === null || steps === 0) {
    return null;
  }
  const others = store
    .runs(0, MOST_RUNS)
    .filter((one) => one.id !== id && one.method === method && one.steps === steps)
    .map((one) => one.id)
    .filter((one) => likeness(store.runConfig(one)) === own);
  const { models, pairings } = pairingsOf([id, ...others].map((run) => teamOf(store, run, steps)));
  return models.length < 2
    ? null
    : {
        models,
        steps,
        runs: pairings.reduce((sum, { teams }) => sum + teams.length, 0),
        contributions: pairings.flatMap(({ label, teams }) => contributionsTo(label, teams)),
      };
}

function teamOf(store: Reader, run: string, step: number): TeamContributions {
  const state = store.methodState(run, step);
  return {
    run,
    models: roleModels(store.runConfig(run)),
    roles: store.stepCredits(run, step).roles.map(({ role }) => role),
    contributions: state?.name === REMOVAL_STATE ? contributionsIn(state.json) : [],
  };
}

function contributionsTo(pairing: string, teams: readonly TeamContributions[]): readonly PairingContribution[] {
  const [first] = teams;
  return (first?.contributions ?? []).flatMap(({ role }): PairingContribution[] => {
    const means = teams.flatMap(({ contributions }) =>
      contributions.filter((one) => one.role === role).map(({ mean }) => mean),
    );
    const contribution = student(means);
    // Of a thinker and a solver the thinker alone is measured, who speaks first.
    const of = first?.roles.includes(role) === true ? role : first?.roles[0];
    return first === undefined || contribution === null
      ? []
      : [{ pairing, role, model: modelOf(first.models, of ?? role), contribution }];
  });
}
