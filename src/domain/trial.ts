/** Trials: pairs of episodes that show if a change of a team helps; also as sentences. */

import { describeServerCost, type ServerCost } from '../shared/endpointCost.ts';
import { isRecord } from '../shared/guard.ts';
import { formatPoints } from '../shared/text/figures.ts';
import { joinNamesWithAnd } from './answer.ts';
import type { Sampling } from './message.ts';
import { readSection, parseStoredConfig } from './run.ts';
import type { Selection } from './selection.ts';

/** The differences of another variant of a team. */
export interface TeamChange {
  /** Prompts by role. */
  readonly prompts: Readonly<Record<string, string>>;
  readonly sampling: Partial<Sampling>;
  /**
   * The policy for the team: weights in the place of the run's own, or an adapter or a server for every
   * role; null if the weights stay.
   */
  readonly policy: PolicyChange | null;
  /** Policies for single roles, which take precedence over `policy`. */
  readonly roles: Readonly<Record<string, PolicyChange>>;
  /** Absolute path of the team file of another program; absent if the program stays. */
  readonly team?: string;
}

/** A snapshot of the run, or the folder of another model. */
export type WeightsChange = { readonly snapshot: string } | { readonly model: string };

/** A server's model, with the keys of a policy: its base address, and the server's name of the model. */
export interface ServerChange {
  readonly endpoint: string;
  readonly model_name: string;
  /** What a million tokens cost; absent for the prices of the same server in the run's configuration. */
  readonly prices?: ServerPrices;
}

export interface ServerPrices {
  readonly input: number;
  readonly output: number;
}

/** The folder of an adapter of the run's model, in PEFT's layout. */
export interface AdapterChange {
  readonly adapter: string;
}

export type PolicyChange = WeightsChange | AdapterChange | ServerChange;

export const NO_CHANGE: TeamChange = { prompts: {}, sampling: {}, policy: null, roles: {} };

/** Returns the weights that take the place of the run's own for the whole team, or null. */
export const findTeamWeights = ({ policy }: Pick<TeamChange, 'policy'>): WeightsChange | null =>
  policy === null || 'endpoint' in policy || 'adapter' in policy ? null : policy;

/**
 * Returns the policies of single roles. A server or an adapter for the whole team answers for every
 * other role.
 */
export const listRolePolicies = (
  { policy, roles }: Pick<TeamChange, 'policy' | 'roles'>,
  names: readonly string[],
): TeamChange['roles'] =>
  policy !== null && findTeamWeights({ policy }) === null
    ? { ...Object.fromEntries(names.map((name) => [name, policy])), ...roles }
    : roles;

/** Parses prices of a million tokens of prompts and of answers, such as `2,8`; null for another form. */
export function parsePrices(text: string): ServerPrices | null {
  const [input = NaN, output = NaN, ...more] = text.split(',').map((one) => (one.trim() === '' ? NaN : Number(one)));
  return more.length === 0 && [input, output].every((one) => Number.isFinite(one) && one >= 0)
    ? { input, output }
    : null;
}

interface DecodingNumber {
  /** Its key in a configuration and on the command line. */
  readonly key: 'temperature' | 'top_p' | 'top_k' | 'max_new_tokens';
  readonly of: keyof Sampling;
  readonly low: number;
  readonly high: number;
  readonly whole: boolean;
}

/** The decoding numbers that a change may set. */
export const DECODING: readonly DecodingNumber[] = [
  { key: 'temperature', of: 'temperature', low: 0, high: 10, whole: false },
  { key: 'top_p', of: 'topP', low: 1e-6, high: 1, whole: false },
  { key: 'top_k', of: 'topK', low: 0, high: 1e6, whole: true },
  { key: 'max_new_tokens', of: 'maxNewTokens', low: 1, high: 100_000, whole: true },
];

/** Parses a decoding number, or returns null if it is out of range. */
export function parseDecodingNumber({ low, high, whole }: DecodingNumber, text: string): number | null {
  const number = text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(number) && number >= low && number <= high && (!whole || Number.isInteger(number))
    ? number
    : null;
}

/** Reads the sampling settings that a run's row records. @param runConfig the row's JSON */
export function readRecordedSampling(runConfig: string): Partial<Sampling> {
  const section = readSection(parseStoredConfig(runConfig), 'sampling');
  const given: Partial<Record<keyof Sampling, number>> = {};
  for (const { key, of } of DECODING) {
    const value = section[key];
    if (typeof value === 'number') {
      given[of] = value;
    }
  }
  return given;
}

/** Describes the valid range: `a number from 0 to 10`. */
export const describeDecodingRange = ({ low, high, whole }: DecodingNumber): string =>
  `a ${whole ? 'whole ' : ''}number from ${low} to ${high}`;

function describePolicyChange(policy: PolicyChange): string {
  if ('endpoint' in policy) {
    return `model ${policy.model_name} of ${policy.endpoint}`;
  }
  if ('adapter' in policy) {
    return `adapter ${policy.adapter}`;
  }
  return 'snapshot' in policy ? `snapshot ${policy.snapshot}` : `model ${policy.model}`;
}

/** Describes a change in a few words: `another prompt of reasoner, temperature 0.5`. */
export function describeTeamChange({ prompts, sampling, policy, roles, team }: TeamChange): string {
  return [
    ...(team === undefined ? [] : [`team file ${team}`]),
    ...Object.keys(prompts).map((role) => `another prompt of ${role}`),
    ...DECODING.flatMap(({ key, of }) => (sampling[of] === undefined ? [] : [`${key} ${sampling[of]}`])),
    ...(policy === null ? [] : [describePolicyChange(policy)]),
    ...Object.entries(roles).map(([role, own]) => `${describePolicyChange(own)} for ${role}`),
  ].join(', ');
}

/** The problems of the last evaluation that a trial uses. */
export type TrialProblems = 'all' | 'lost';

/** A mean of paired differences with its 95 % interval, which holds at every look. */
export interface PairedDifference {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Number of pairs. */
  readonly n: number;
}

/** The messages of one side of a pair, and its return. */
export interface TrialEpisode {
  readonly return: number;
  readonly messages: readonly { readonly role: string; readonly text: string }[];
}

/** A pair whose sides differ in success. */
export interface TrialCase {
  readonly question: string;
  readonly before: TrialEpisode;
  readonly after: TrialEpisode;
}

/** A problem of the pairs, with its mean returns over the pairs in which both sides could be scored. */
export interface TrialProblem {
  readonly question: string;
  readonly pairs: number;
  readonly before: number;
  readonly after: number;
}

/** How a server was asked; prices are null if they are not known. */
interface AskedServer {
  readonly api: 'chat' | 'completions';
  readonly prices: ServerPrices | null;
}

/** The result of a trial. */
export interface Trial {
  readonly run: string;
  /** The message in whose context both sides began; absent if they began with the problems. */
  readonly message?: number;
  /** The selection of problems that was asked for; absent for all of them. */
  readonly only?: Selection;
  /** Roles whose servers do not reproduce seeds, so that both sides share no random numbers for them. */
  readonly unseeded?: readonly string[];
  /** Problems of the pairs; 1 for the context of a message. */
  readonly contexts: number;
  readonly difference: PairedDifference;
  /** Pairs in which the change returned more; `worse` and `same` count the others. */
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** Pairs that are left out because a side could not be scored. */
  readonly masked: number;
  /** Some of the pairs whose success differs, those that the change won first. */
  readonly cases: readonly TrialCase[];
  /** In the order in which they were drawn. */
  readonly problems: readonly TrialProblem[];
  readonly evaluatorCalls: number;
  /** Tokens that were generated, without and with the change. */
  readonly tokens: { readonly before: number; readonly after: number };
  /** What the servers of the roles charged for the episodes; absent if they charged nothing. */
  readonly costs?: { readonly before: ServerCost; readonly after: ServerCost };
  /** The servers of the change by role. */
  readonly servers?: Readonly<Record<string, AskedServer>>;
  readonly seconds: number;
  /** The highest possible return: differences are shown as a share of it. */
  readonly most: number;
  readonly sentence: string;
}

/** Bounds and default of a trial's budget, in evaluator calls of both sides together. */
export const TRIAL_BUDGET = { least: 2, usual: 2000, most: 1_000_000 } as const;

/** Writes the answer in a sentence or two. */
export function writeTrialSentence({
  difference: { value, low, high, n },
  better,
  worse,
  masked,
  unseeded = [],
  most,
  evaluatorCalls,
}: Omit<Trial, 'sentence'>): string {
  const spent = `${evaluatorCalls.toLocaleString('en-US')} ${evaluatorCalls === 1 ? 'call' : 'calls'}.`;
  const left =
    masked === 0 ? '' : ` ${formatPairs(masked)} could not be scored and ${masked === 1 ? 'is' : 'are'} left out.`;
  const unpaired =
    unseeded.length === 0
      ? ''
      : ` Unpaired: the policy of ${joinNamesWithAnd(unseeded)} does not reproduce seeds, so the two sides share no random numbers.`;
  if (n === 0) {
    return `No pair could be scored.${left} ${spent}`;
  }
  if (better + worse === 0) {
    return `The change made no difference in any of ${formatPairs(n)}.${left}${unpaired} ${spent}`;
  }
  const flips = `better in ${better} and worse in ${worse} of ${formatPairs(n)}`;
  const size = `${formatPoints(value, most)} points [${formatPoints(low, most)}, ${formatPoints(high, most)}]`;
  const verdict = low > 0 ? 'The change helps' : high < 0 ? 'The change harms' : 'Undecided';
  return `${verdict}: ${size}, ${flips}.${left}${unpaired} ${spent}`;
}

/** Returns the mean returns of both sides over all scored pairs, or null without one. */
export function computeMeanReturns({
  problems,
  difference,
}: Pick<Trial, 'problems' | 'difference'>): { readonly before: number; readonly after: number } | null {
  const mean = (side: 'before' | 'after'): number =>
    problems.reduce((sum, one) => sum + one.pairs * one[side], 0) / difference.n;
  return difference.n === 0 ? null : { before: mean('before'), after: mean('after') };
}

/** Returns false if servers answered for all roles without naming their tokens, which only the costs count. */
export const areTokensKnown = ({ tokens, costs }: Pick<Trial, 'tokens' | 'costs'>): boolean =>
  costs === undefined || tokens.before + tokens.after > 0;

/** Writes the costs of servers in a sentence. */
export const describeTrialCosts = ({ before, after }: NonNullable<Trial['costs']>): string =>
  `Servers: ${describeServerCost(before)} without the change, ${describeServerCost(after)} with it.`;

const formatPairs = (count: number): string => `${count.toLocaleString('en-US')} ${count === 1 ? 'pair' : 'pairs'}`;

const isEpisode = (value: unknown): value is TrialEpisode =>
  isRecord(value) &&
  typeof value['return'] === 'number' &&
  Array.isArray(value['messages']) &&
  value['messages'].every((one) => isRecord(one) && typeof one['role'] === 'string' && typeof one['text'] === 'string');

const isCase = (value: unknown): value is TrialCase =>
  isRecord(value) && typeof value['question'] === 'string' && isEpisode(value['before']) && isEpisode(value['after']);

const hasNumbers = (value: unknown, keys: readonly string[]): boolean =>
  isRecord(value) && keys.every((key) => typeof value[key] === 'number');

const areCosts = (value: unknown): boolean =>
  isRecord(value) &&
  [value['before'], value['after']].every(
    (side) =>
      hasNumbers(side, ['prompt', 'completion']) &&
      isRecord(side) &&
      (side['money'] === null || typeof side['money'] === 'number'),
  );

const isProblem = (value: unknown): value is TrialProblem =>
  isRecord(value) && typeof value['question'] === 'string' && hasNumbers(value, ['pairs', 'before', 'after']);

/** Returns true if a value that was kept elsewhere can be shown as a trial. */
export const isTrial = (value: unknown): value is Trial =>
  isRecord(value) &&
  typeof value['run'] === 'string' &&
  typeof value['sentence'] === 'string' &&
  hasNumbers(value, ['contexts', 'better', 'worse', 'same', 'masked', 'evaluatorCalls', 'seconds', 'most']) &&
  hasNumbers(value['difference'], ['value', 'low', 'high', 'n']) &&
  hasNumbers(value['tokens'], ['before', 'after']) &&
  (value['costs'] === undefined || areCosts(value['costs'])) &&
  Array.isArray(value['cases']) &&
  value['cases'].every(isCase) &&
  Array.isArray(value['problems']) &&
  value['problems'].every(isProblem);

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecord(value) && Object.values(value).every((one) => typeof one === 'string');

const isFolderOrSnapshot = (value: unknown): value is WeightsChange | AdapterChange =>
  isTexts(value) && Object.keys(value).length === 1 && ['snapshot', 'model', 'adapter'].some((key) => key in value);

const isServerChange = (value: unknown): value is ServerChange =>
  isRecord(value) &&
  Object.keys(value).every((key) => ['endpoint', 'model_name', 'prices'].includes(key)) &&
  typeof value['endpoint'] === 'string' &&
  typeof value['model_name'] === 'string' &&
  (value['prices'] === undefined || hasNumbers(value['prices'], ['input', 'output']));

const isPolicyChange = (value: unknown): value is PolicyChange => isFolderOrSnapshot(value) || isServerChange(value);

/** Returns true if a value that was kept elsewhere is a change of a team. */
export const isTeamChange = (value: unknown): value is TeamChange =>
  isRecord(value) &&
  isTexts(value['prompts']) &&
  isRecord(value['sampling']) &&
  Object.values(value['sampling']).every((one) => typeof one === 'number') &&
  (value['policy'] === null || isPolicyChange(value['policy'])) &&
  isRecord(value['roles']) &&
  Object.values(value['roles']).every(isPolicyChange) &&
  (value['team'] === undefined || typeof value['team'] === 'string');
