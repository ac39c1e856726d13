/** The measures and costs of the training steps of a run, one row for each step, as charts draw them. */

import { isRecord } from '../shared/guard.ts';
import {
  addTokens,
  readSection,
  parseStoredRecipe,
  readReplacement,
  parseStoredConfig,
  type Tokens,
  type Replacement,
} from './run.ts';
import { MEASURED_ROLE_TURNS, type StepMetrics } from './step.ts';

/**
 * A five-number summary. Quartiles use linear interpolation between order statistics (Hyndman and
 * Fan's type 7, as in R and NumPy).
 */
export interface Spread {
  readonly n: number;
  readonly low: number;
  readonly lower: number;
  readonly middle: number;
  readonly upper: number;
  readonly high: number;
}

/** The credits of a step's messages. */
export interface StepCredits {
  /** In the order in which the roles first spoke. */
  readonly roles: readonly { readonly role: string; readonly spread: Spread }[];
  /**
   * Mean over contexts of the population variance of their credits (C3 section 5.3); null if no context
   * has two.
   */
  readonly variance: { readonly value: number; readonly contexts: number } | null;
}

/** Cost of a part of a run. */
export interface RoundCost {
  readonly evaluatorCalls: number;
  readonly tokens: Tokens;
}

/** The running mean of a role's contribution, and its standard deviation. */
export interface RoleContribution {
  readonly role: string;
  readonly mean: number;
  readonly deviation: number;
}

export interface StepRow {
  readonly iteration: number;
  readonly metrics: StepMetrics;
  /** Cost of this step alone. */
  readonly cost: RoundCost;
  readonly episodes: number;
  readonly credits: StepCredits;
  /** Contributions of the roles up to this step; present for runs that credit by removal. */
  readonly contributions?: readonly RoleContribution[];
}

/** Returns the five-number summary, or null without values. */
export function summarizeSpread(values: readonly number[]): Spread | null {
  const sorted = [...values].sort((a, b) => a - b);
  const quantile = (share: number): number => {
    const place = share * (sorted.length - 1);
    const below = sorted[Math.floor(place)] ?? 0;
    const above = sorted[Math.ceil(place)] ?? below;
    return below + (place - Math.floor(place)) * (above - below);
  };
  if (sorted.length === 0) {
    return null;
  }
  return {
    n: sorted.length,
    low: quantile(0),
    lower: quantile(0.25),
    middle: quantile(0.5),
    upper: quantile(0.75),
    high: quantile(1),
  };
}

/** Adds costs. */
export function addCosts(...costs: readonly RoundCost[]): RoundCost {
  return costs.reduce<RoundCost>(
    (a, b) => ({ evaluatorCalls: a.evaluatorCalls + b.evaluatorCalls, tokens: addTokens(a.tokens, b.tokens) }),
    NO_COST,
  );
}

const NO_COST: RoundCost = { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 } };

/** Returns the cost between two states of a cumulative ledger. */
export function subtractCosts(before: RoundCost, after: RoundCost): RoundCost {
  const { prompt, reused, completion, reusedCompletion = 0 } = before.tokens;
  return {
    evaluatorCalls: after.evaluatorCalls - before.evaluatorCalls,
    tokens: addTokens(after.tokens, {
      prompt: -prompt,
      reused: -reused,
      completion: -completion,
      reusedCompletion: -reusedCompletion,
    }),
  };
}

/** Names of the models that answer for roles: of model folders, of models of servers, or `scripted`. */
export interface RoleModels {
  readonly own: string;
  /** Models of the roles that do not use `own`. */
  readonly roles: Readonly<Record<string, string>>;
}

/** The contributions of the roles of a run up to its last step. */
export interface TeamContributions {
  readonly run: string;
  readonly models: RoleModels;
  /** In the order in which the roles speak. */
  readonly roles: readonly string[];
  readonly contributions: readonly RoleContribution[];
}

/** Teams with the same models in the same roles. */
export interface Pairing<Team extends TeamContributions> {
  /** The numbers of their models, from 1, role by role: `1 1 2`. */
  readonly label: string;
  readonly teams: readonly Team[];
}

export interface Pairings<Team extends TeamContributions> {
  /** Sorted by name; the first one is number 1. */
  readonly models: readonly string[];
  readonly pairings: readonly Pairing<Team>[];
}

/** Most characters of a name. */
const NAME = 60;

const readLastPathPart = (path: unknown): string =>
  typeof path === 'string'
    ? (path
        .split(/[\\/]/u)
        .findLast((part) => part !== '')
        ?.slice(0, NAME) ?? '')
    : '';

/** Reads the models of a run's roles, '' for unknown ones. @param runConfig the row's JSON */
export function readRoleModels(runConfig: string): RoleModels {
  const recipe = parseStoredRecipe(runConfig);
  const weights = readSection(recipe, 'roles');
  const policies = readSection(readSection(recipe, 'config'), 'policies');
  const named = Object.entries(policies).flatMap(([role, policy]): [string, string][] => {
    const { kind, model_name: served } = isRecord(policy) ? policy : {};
    const own = Object.hasOwn(weights, role) ? weights[role] : undefined;
    if (isRecord(own)) {
      return [[role, readLastPathPart(own['folder'])]];
    }
    return kind === 'endpoint' ? [[role, readLastPathPart(served)]] : kind === 'scripted' ? [[role, 'scripted']] : [];
  });
  return { own: readLastPathPart(recipe['modelFolder']), roles: Object.fromEntries(named) };
}

export const findRoleModel = ({ own, roles }: RoleModels, role: string): string =>
  Object.hasOwn(roles, role) ? (roles[role] ?? own) : own;

/** Groups teams by the models of their roles, without teams that have no contribution. */
export function groupTeamPairings<Team extends TeamContributions>(teams: readonly Team[]): Pairings<Team> {
  const measured = teams.filter(({ contributions }) => contributions.length > 0);
  const models = [
    ...new Set(measured.flatMap(({ models: own, roles }) => roles.map((role) => findRoleModel(own, role)))),
  ].sort();
  const numbers = ({ models: own, roles }: Team): string =>
    roles.map((role) => String(models.indexOf(findRoleModel(own, role)) + 1)).join(' ');
  const pairings = [...Map.groupBy(measured, numbers)]
    .map(([label, found]) => ({ label, teams: found }))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
  return { models, pairings };
}

/** Lists the models by their numbers: `1 team-logic, 2 team-logic-small`. */
export const formatNumberedModels = (models: readonly string[]): string =>
  models.map((name, index) => `${index + 1} ${name}`).join(', ');

/** An episode with the credits of its messages, and the return of its solo rollout. */
export interface RemovalRollout {
  /** The uidSha of the question. */
  readonly problem: string;
  readonly joint: number;
  readonly solo: number;
  /** The credit by a shared return: the return, normalized among the rollouts of the question. */
  readonly shared: number;
  readonly messages: readonly { readonly role: string; readonly credit: number }[];
  /** Tokens sampled for the episode; `soloTokens` are those for its solo rollout. */
  readonly tokens: number;
  readonly soloTokens: number;
}

/** The credits of one role's messages in one outcome. */
export interface OutcomeCredits {
  /** 1 if the episode was right; `solo` is 1 if its solo rollout was. */
  readonly joint: 0 | 1;
  readonly solo: 0 | 1;
  readonly role: string;
  /** As training recorded them. */
  readonly credits: Spread | null;
  /** The return minus its mean over the rollouts of the question, divided by their sample deviation. */
  readonly shared: Spread | null;
}

/** The outcomes of some rollouts together. */
export interface RemovalOutcomes {
  readonly outcomes: readonly OutcomeCredits[];
  /** Rollouts in the outcomes; `others` have returns other than 0 and 1 and are in none. */
  readonly rollouts: number;
  readonly others: number;
  /** Mean return of all rollouts with the thinker; `without` is that of their solo rollouts. */
  readonly team: number;
  readonly without: number;
}

/** The queries that read a store. */
export interface RemovalRows {
  readonly episodes: (query: {
    readonly run: string;
    readonly phase: 'train';
    readonly iteration: number;
    readonly offset: number;
    readonly limit: number;
  }) => readonly { readonly problem: string; readonly return: number | null; readonly leaf: number }[];
  readonly chain: (
    leaf: number,
  ) => readonly {
    readonly role: string;
    readonly text: string;
    readonly finish: string;
    readonly tokenCount: number;
    readonly trainingCredit: { readonly value: number } | null;
  }[];
}

/** Epsilon of group normalization (CCPO reference section 4). */
const EPSILON = 1e-6;

const PAGE = 5000;

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns the number of tokens that a model sampled. A typed or empty message has none. */
const countSampledTokens = (chain: ReturnType<RemovalRows['chain']>): number =>
  chain.reduce((sum, { finish, tokenCount }) => sum + (finish === 'typed' ? 0 : tokenCount), 0);

/** Returns the pairs of a step, as its credit paired them. A question without a solo rollout has none. */
export function listRemovalRollouts(rows: RemovalRows, run: string, iteration: number): RemovalRollout[] {
  const episodes: ReturnType<RemovalRows['episodes']>[number][] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = rows.episodes({ run, phase: 'train', iteration, offset, limit: PAGE });
    episodes.push(...page);
    if (page.length < PAGE) {
      break;
    }
  }
  return [...Map.groupBy(episodes, ({ problem }) => problem)].flatMap(([problem, own]) => {
    const read = own.map((episode) => ({ value: episode.return, chain: rows.chain(episode.leaf) }));
    const isSolo = ({ chain: [first] }: (typeof read)[number]): boolean =>
      first?.finish === 'typed' && first.text === '';
    const [solos, joints] = [read.filter(isSolo), read.filter((one) => !isSolo(one))];
    const measured = solos.flatMap(({ value }) => value ?? []);
    const returns = joints.flatMap(({ value }) => value ?? []);
    const centre = returns.length === 0 ? 0 : meanOf(returns);
    const deviation = Math.sqrt(
      returns.reduce((sum, value) => sum + (value - centre) ** 2, 0) / Math.max(1, returns.length - 1),
    );
    return joints.flatMap(({ value, chain }, number): RemovalRollout[] =>
      value === null || measured.length === 0
        ? []
        : [
            {
              problem,
              joint: value,
              solo: solos[number]?.value ?? meanOf(measured),
              // A group of one rollout keeps its return.
              shared: returns.length < 2 ? value : (value - centre) / (deviation + EPSILON),
              tokens: countSampledTokens(chain),
              soloTokens: countSampledTokens(solos[number]?.chain ?? []),
              messages: chain.flatMap(({ role, trainingCredit }) =>
                trainingCredit === null ? [] : [{ role, credit: trainingCredit.value }],
              ),
            },
          ],
    );
  });
}

const CELLS = [1, 0].flatMap((joint) =>
  [1, 0].map((solo) => ({ joint, solo }) as Pick<OutcomeCredits, 'joint' | 'solo'>),
);

const isOutcome = (value: number): boolean => value === 0 || value === 1;

/** Groups credits by outcome, with roles in the order in which they spoke. Null without rollouts. */
export function summarizeRemovals(all: readonly RemovalRollout[]): RemovalOutcomes | null {
  if (all.length === 0) {
    return null;
  }
  const clear = all.filter(({ joint, solo }) => isOutcome(joint) && isOutcome(solo));
  const roles = [...new Set(clear.flatMap(({ messages }) => messages.map(({ role }) => role)))];
  const outcomes = roles.flatMap((role) =>
    CELLS.map(({ joint, solo }): OutcomeCredits => {
      const own = clear.filter((one) => one.joint === joint && one.solo === solo);
      const credits = own.flatMap(({ messages }) => messages.filter((one) => one.role === role));
      return {
        joint,
        solo,
        role,
        credits: summarizeSpread(credits.map(({ credit }) => credit)),
        shared: summarizeSpread(own.map(({ shared }) => shared)),
      };
    }),
  );
  return {
    outcomes,
    rollouts: clear.length,
    others: all.length - clear.length,
    team: meanOf(all.map(({ joint }) => joint)),
    without: meanOf(all.map(({ solo }) => solo)),
  };
}

const toRecord = (json: unknown): Readonly<Record<string, unknown>> | null =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.fromEntries(Object.entries(json)) : null;

/**
 * Reads the running means in a state of method ccpo: of each voter, or of the thinker.
 * @param json as it is stored; null for another method
 */
export function readContributions(json: unknown): readonly RoleContribution[] {
  const state = toRecord(json);
  const voters = toRecord(state?.['voters']);
  const rows = voters === null ? [['thinker', state?.['contribution']] as const] : Object.entries(voters);
  return rows.flatMap(([role, running]) => {
    const { mean, variance } = toRecord(running) ?? {};
    return typeof mean === 'number' && typeof variance === 'number'
      ? [{ role, mean, deviation: Math.sqrt(variance) }]
      : [];
  });
}

/** The name of such states in the store. */
export const REMOVAL_STATE = 'ccpo-statistics';

/** Most rollouts that are read together, from steps spread evenly over a run. */
export const MOST_ROLLOUTS = 12_000;

/** Facts in a run's own row that its steps do not have. */
export interface RegionFacts {
  /** The radius of the trust region in nats per message; null for a run of another method. */
  readonly delta: number | null;
  /** The replacement of a role before the run began; null if there was none. */
  readonly replacement: Replacement | null;
}

/** The radius if a stored configuration does not name it. */
const USUAL_DELTA = 0.01;

/** @param runConfig the row's JSON */
export function readRegionFacts(runConfig: string): RegionFacts {
  return { delta: readDelta(runConfig), replacement: readReplacement(runConfig) };
}

function readDelta(runConfig: string): number | null {
  const config = parseStoredConfig(runConfig);
  if (config['method'] !== 'teamtr') {
    return null;
  }
  const { delta } = readSection(config, 'teamtr');
  return typeof delta === 'number' && Number.isFinite(delta) && delta > 0 ? delta : USUAL_DELTA;
}

/**
 * Returns the KL of each turn of a step. A step without diagnostics has only that of the turn that
 * moved farthest.
 */
export function listTurnKls(metrics: StepMetrics): readonly number[] {
  const turns = MEASURED_ROLE_TURNS.flatMap((turn) => metrics[`klTurn${turn}`] ?? []);
  return turns.length > 0 ? turns : metrics.trustRegionKl === undefined ? [] : [metrics.trustRegionKl];
}

export interface KlBin {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** Bins from 0 to the radius, so that the radius is a border of bins. */
export const BINS = 10;

/** Most bins beyond the radius; the last one holds all larger values. */
const BEYOND = 5;

/**
 * Counts turns by their KL. An estimate below 0 is in the first bin.
 * @returns no bins without turns
 */
export function buildKlHistogram(kls: readonly number[], delta: number): readonly KlBin[] {
  if (kls.length === 0) {
    return [];
  }
  const width = delta / BINS;
  const placeOf = (kl: number): number => Math.max(0, Math.min(BINS + BEYOND - 1, Math.ceil(kl / width - 1e-9) - 1));
  const places = kls.map(placeOf);
  // At least one bin beyond the radius shows that it is empty.
  const last = Math.max(BINS, ...places);
  return Array.from({ length: last + 1 }, (_, place) => ({
    low: place * width,
    high: place === BINS + BEYOND - 1 ? Math.max((place + 1) * width, ...kls) : (place + 1) * width,
    count: places.filter((own) => own === place).length,
  }));
}

/** A step's certificate for the updates whose improvement was measured. */
export interface ComparedStep {
  readonly step: number;
  readonly certificate: number;
  readonly measured: number;
  /** True if the certificate of the whole step is vacuous. */
  readonly vacuous: boolean;
}

export const listComparedSteps = (
  steps: readonly { readonly step: number; readonly metrics: StepMetrics }[],
): readonly ComparedStep[] =>
  steps.flatMap(({ step, metrics: { comparedCertificate, measuredImprovement, vacuousCertificate } }) =>
    comparedCertificate === undefined || measuredImprovement === undefined
      ? []
      : [{ step, certificate: comparedCertificate, measured: measuredImprovement, vacuous: vacuousCertificate === 1 }],
  );

/**
 * Returns the stability of training (TeamTR reference section 6): the sample standard deviation over
 * steps of the gain of the mean return from one step to the next, in units of the return. Small values
 * are stable.
 * @param returns of the steps in order; a step without a return ends no gain and begins none
 * @returns null with fewer than two gains
 */
export function measureStability(returns: readonly (number | null)[]): number | null {
  const gains = returns.slice(1).flatMap((value, index) => {
    const before = returns[index] ?? null;
    return value === null || before === null ? [] : [value - before];
  });
  if (gains.length < 2) {
    return null;
  }
  const middle = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
  return Math.sqrt(gains.reduce((sum, gain) => sum + (gain - middle) ** 2, 0) / (gains.length - 1));
}
