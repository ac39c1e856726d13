/** What the training steps of a run showed and cost, one row for each, as charts draw them. */
import { isRecord } from '../shared/guard.ts';
import {
  addTokens,
  sectionOf,
  storedRecipe,
  replacementOf,
  storedConfig,
  type Tokens,
  type Replacement,
} from './run.ts';
import { MEASURED_ROLE_TURNS, type StepMetrics } from './step.ts';

/**
 * Five numbers of some values: quartiles by linear interpolation between order statistics (Hyndman and Fan's type 7, as
 * in R and NumPy).
 */
export interface Spread {
  readonly n: number;
  readonly low: number;
  readonly lower: number;
  readonly middle: number;
  readonly upper: number;
  readonly high: number;
}

/** What a step's messages were credited with. */
export interface StepCredits {
  /** In the order in which the roles first spoke. */
  readonly roles: readonly { readonly role: string; readonly spread: Spread }[];
  /** Mean over contexts of the population variance of their credits (C3 section 5.3); null where no context has two. */
  readonly variance: { readonly value: number; readonly contexts: number } | null;
}

/** Cost of a part of a run. */
export interface RoundCost {
  readonly evaluatorCalls: number;
  readonly tokens: Tokens;
}

/** What a role contributed so far: its running mean, and the deviation. */
export interface RoleContribution {
  readonly role: string;
  readonly mean: number;
  readonly deviation: number;
}

export interface StepRow {
  readonly iteration: number;
  readonly metrics: StepMetrics;
  /** Of this step alone. */
  readonly cost: RoundCost;
  readonly episodes: number;
  readonly credits: StepCredits;
  /** What each role contributed so far; of runs that credit by removal. */
  readonly contributions?: readonly RoleContribution[];
}

/** The five numbers; null without values. */
export function spreadOf(values: readonly number[]): Spread | null {
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

/** The sum of some costs. */
export function addCosts(...costs: readonly RoundCost[]): RoundCost {
  return costs.reduce<RoundCost>(
    (a, b) => ({ evaluatorCalls: a.evaluatorCalls + b.evaluatorCalls, tokens: addTokens(a.tokens, b.tokens) }),
    NO_COST,
  );
}

const NO_COST: RoundCost = { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 } };

/** What was spent between two states of a cumulative ledger. */
export function costBetween(before: RoundCost, after: RoundCost): RoundCost {
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

/** What answers for roles: names of model folders, of models that servers have, or of what else there is. */
export interface RoleModels {
  readonly own: string;
  /** Of roles that something else answers for. */
  readonly roles: Readonly<Record<string, string>>;
}

/** What the roles of a run contributed so far. */
export interface TeamContributions {
  readonly run: string;
  readonly models: RoleModels;
  /** In the order in which they speak. */
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
  /** By name; the first one is number 1. */
  readonly models: readonly string[];
  readonly pairings: readonly Pairing<Team>[];
}

/** Characters of a name. */
const NAME = 60;

const nameOf = (path: unknown): string =>
  typeof path === 'string'
    ? (path
        .split(/[\\/]/u)
        .findLast((part) => part !== '')
        ?.slice(0, NAME) ?? '')
    : '';

/** @param runConfig the row's JSON; what it does not say has no name */
export function roleModels(runConfig: string): RoleModels {
  const recipe = storedRecipe(runConfig);
  const weights = sectionOf(recipe, 'roles');
  const policies = sectionOf(sectionOf(recipe, 'config'), 'policies');
  const named = Object.entries(policies).flatMap(([role, policy]): [string, string][] => {
    const { kind, model_name: served } = isRecord(policy) ? policy : {};
    const own = Object.hasOwn(weights, role) ? weights[role] : undefined;
    if (isRecord(own)) {
      return [[role, nameOf(own['folder'])]];
    }
    return kind === 'endpoint' ? [[role, nameOf(served)]] : kind === 'scripted' ? [[role, 'scripted']] : [];
  });
  return { own: nameOf(recipe['modelFolder']), roles: Object.fromEntries(named) };
}

export const modelOf = ({ own, roles }: RoleModels, role: string): string =>
  Object.hasOwn(roles, role) ? (roles[role] ?? own) : own;

/** Teams by the models of their roles; those without a contribution are left out. */
export function pairingsOf<Team extends TeamContributions>(teams: readonly Team[]): Pairings<Team> {
  const measured = teams.filter(({ contributions }) => contributions.length > 0);
  const models = [
    ...new Set(measured.flatMap(({ models: own, roles }) => roles.map((role) => modelOf(own, role)))),
  ].sort();
  const numbers = ({ models: own, roles }: Team): string =>
    roles.map((role) => String(models.indexOf(modelOf(own, role)) + 1)).join(' ');
  const pairings = [...Map.groupBy(measured, numbers)]
    .map(([label, found]) => ({ label, teams: found }))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
  return { models, pairings };
}

/** What its models are, for those who read the labels: `1 team-logic, 2 team-logic-small`. */
export const modelWords = (models: readonly string[]): string =>
  models.map((name, index) => `${index + 1} ${name}`).join(', ');

/** An episode, the solo return of its number, and what its messages were credited with. */
export interface RemovalRollout {
  /** Of the question. */
  readonly problem: string;
  readonly joint: number;
  readonly solo: number;
  /** What a shared return would have credited: scaled among the rollouts of the question. */
  readonly shared: number;
  readonly messages: readonly { readonly role: string; readonly credit: number }[];
  /** Sampled for it, and for the solo rollout of its number. */
  readonly tokens: number;
  readonly soloTokens: number;
}

/** Of the messages of one role in one outcome. */
export interface OutcomeCredits {
  /** Whether the episode was right, and the solo rollout of its number. */
  readonly joint: 0 | 1;
  readonly solo: 0 | 1;
  readonly role: string;
  /** As training recorded them. */
  readonly credits: Spread | null;
  /** The return less its mean over the rollouts of the question, over their sample deviation. */
  readonly shared: Spread | null;
}

/** What some rollouts show together. */
export interface RemovalOutcomes {
  readonly outcomes: readonly OutcomeCredits[];
  /** Rollouts behind them, and those of other returns than 0 and 1, which are in none. */
  readonly rollouts: number;
  readonly others: number;
  /** Mean return of all of them with the thinker, and of their solo rollouts. */
  readonly team: number;
  readonly without: number;
}

/** What is read of a store. */
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

/** Of group normalisation (CCPO reference section 4). */
const EPSILON = 1e-6;

const PAGE = 5000;

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Tokens that a model sampled; none of an empty message in the place of one. */
const sampledIn = (chain: ReturnType<RemovalRows['chain']>): number =>
  chain.reduce((sum, { finish, tokenCount }) => sum + (finish === 'typed' ? 0 : tokenCount), 0);

/** The pairs of a step, as its credit paired them; none where a question has no solo rollout. */
export function removalRollouts(rows: RemovalRows, run: string, iteration: number): RemovalRollout[] {
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
              // A group of one keeps its return.
              shared: returns.length < 2 ? value : (value - centre) / (deviation + EPSILON),
              tokens: sampledIn(chain),
              soloTokens: sampledIn(solos[number]?.chain ?? []),
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

/** Credits by outcome, of the roles in the order in which they spoke; null without rollouts. */
export function removalOutcomes(all: readonly RemovalRollout[]): RemovalOutcomes | null {
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
        credits: spreadOf(credits.map(({ credit }) => credit)),
        shared: spreadOf(own.map(({ shared }) => shared)),
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

const recordOf = (json: unknown): Readonly<Record<string, unknown>> | null =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.fromEntries(Object.entries(json)) : null;

/**
 * The running means in a state of method ccpo: of each voter, else of the thinker.
 * @param json as it is stored; null of another method
 */
export function contributionsIn(json: unknown): readonly RoleContribution[] {
  const state = recordOf(json);
  const voters = recordOf(state?.['voters']);
  const rows = voters === null ? [['thinker', state?.['contribution']] as const] : Object.entries(voters);
  return rows.flatMap(([role, running]) => {
    const { mean, variance } = recordOf(running) ?? {};
    return typeof mean === 'number' && typeof variance === 'number'
      ? [{ role, mean, deviation: Math.sqrt(variance) }]
      : [];
  });
}

/** Under which name the store has such states. */
export const REMOVAL_STATE = 'ccpo-statistics';

/** Rollouts that are looked at together, of steps spread evenly over a run. */
export const MOST_ROLLOUTS = 12_000;

/** What a run's own row says beside its steps. */
export interface RegionFacts {
  /** The radius of the trust region in nats per message; null for a run of another method. */
  readonly delta: number | null;
  /** What replacing a role came to before the run began; null where none was. */
  readonly replacement: Replacement | null;
}

/** Where a stored configuration does not say it. */
const USUAL_DELTA = 0.01;

/** @param runConfig the row's JSON */
export function regionFacts(runConfig: string): RegionFacts {
  return { delta: deltaIn(runConfig), replacement: replacementOf(runConfig) };
}

function deltaIn(runConfig: string): number | null {
  const config = storedConfig(runConfig);
  if (config['method'] !== 'teamtr') {
    return null;
  }
  const { delta } = sectionOf(config, 'teamtr');
  return typeof delta === 'number' && Number.isFinite(delta) && delta > 0 ? delta : USUAL_DELTA;
}

/** The KL of each turn of a step; of a step without diagnostics that of the turn that moved farthest. */
export function turnKls(metrics: StepMetrics): readonly number[] {
  const turns = MEASURED_ROLE_TURNS.flatMap((turn) => metrics[`klTurn${turn}`] ?? []);
  return turns.length > 0 ? turns : metrics.trustRegionKl === undefined ? [] : [metrics.trustRegionKl];
}

export interface KlBin {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** Bins from 0 to the radius, so that its end is one's border. */
export const BINS = 10;

/** Bins beyond it, at most; the last one has all that is larger. */
const BEYOND = 5;

/**
 * How many turns moved how far. An estimate below 0 is in the first bin.
 * @returns no bin without a turn
 */
export function klHistogram(kls: readonly number[], delta: number): readonly KlBin[] {
  if (kls.length === 0) {
    return [];
  }
  const width = delta / BINS;
  const placeOf = (kl: number): number => Math.max(0, Math.min(BINS + BEYOND - 1, Math.ceil(kl / width - 1e-9) - 1));
  const places = kls.map(placeOf);
  // One bin beyond the radius at least shows that it is empty.
  const last = Math.max(BINS, ...places);
  return Array.from({ length: last + 1 }, (_, place) => ({
    low: place * width,
    high: place === BINS + BEYOND - 1 ? Math.max((place + 1) * width, ...kls) : (place + 1) * width,
    count: places.filter((own) => own === place).length,
  }));
}

/** A step's certificate of the updates whose improvement was measured. */
export interface ComparedStep {
  readonly step: number;
  readonly certificate: number;
  readonly measured: number;
  /** Whether the certificate of the whole step says nothing. */
  readonly vacuous: boolean;
}

export const comparedSteps = (
  steps: readonly { readonly step: number; readonly metrics: StepMetrics }[],
): readonly ComparedStep[] =>
  steps.flatMap(({ step, metrics: { comparedCertificate, measuredImprovement, vacuousCertificate } }) =>
    comparedCertificate === undefined || measuredImprovement === undefined
      ? []
      : [{ step, certificate: comparedCertificate, measured: measuredImprovement, vacuous: vacuousCertificate === 1 }],
  );

/**
 * Stability of training (TeamTR reference section 6): the sample standard deviation over steps of what the mean return
 * gained from one step to the next, in units of the return; small is stable.
 * @param returns of the steps in order; a step without one ends no gain and begins none
 * @returns null with fewer than two gains
 */
export function stabilityOf(returns: readonly (number | null)[]): number | null {
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
