/** Trials: whether a change of a team helps, in pairs of episodes. In words, too. */
import { isRecord } from '../shared/guard.ts';
import { signed } from '../shared/text/figures.ts';
import { listed } from './answer.ts';
import type { Sampling } from './message.ts';
import { sectionOf, storedConfig } from './run.ts';
import type { Selection } from './selection.ts';

/** What another variant of a team does otherwise. */
export interface TeamChange {
  /** Prompts by role. */
  readonly prompts: Readonly<Record<string, string>>;
  readonly sampling: Partial<Sampling>;
  /** What answers for the team in the place of the run's own weights; null where they stay. */
  readonly policy: WeightsChange | null;
  /** What answers for one role alone, whatever answered for it. */
  readonly roles: Readonly<Record<string, PolicyChange>>;
}

/** A snapshot of the run, or the folder of another model. */
export type WeightsChange = { readonly snapshot: string } | { readonly model: string };

/** A server's model, with the keys of a policy: its base address, and how the server names the model. */
export interface ServerChange {
  readonly endpoint: string;
  readonly model_name: string;
}

export type PolicyChange = WeightsChange | ServerChange;

export const NO_CHANGE: TeamChange = { prompts: {}, sampling: {}, policy: null, roles: {} };

interface DecodingNumber {
  /** Its key in a configuration, and on the command line. */
  readonly key: 'temperature' | 'top_p' | 'top_k' | 'max_new_tokens';
  readonly of: keyof Sampling;
  readonly low: number;
  readonly high: number;
  readonly whole: boolean;
}

/** The numbers of the decoding that a change may set. */
export const DECODING: readonly DecodingNumber[] = [
  { key: 'temperature', of: 'temperature', low: 0, high: 10, whole: false },
  { key: 'top_p', of: 'topP', low: 1e-6, high: 1, whole: false },
  { key: 'top_k', of: 'topK', low: 0, high: 1e6, whole: true },
  { key: 'max_new_tokens', of: 'maxNewTokens', low: 1, high: 100_000, whole: true },
];

/** A number of the decoding as it is written; null for one that it cannot be. */
export function decodingNumber({ low, high, whole }: DecodingNumber, text: string): number | null {
  const number = text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(number) && number >= low && number <= high && (!whole || Number.isInteger(number))
    ? number
    : null;
}

/** What a run samples with, as far as its row says. @param runConfig the row's JSON */
export function recordedSampling(runConfig: string): Partial<Sampling> {
  const section = sectionOf(storedConfig(runConfig), 'sampling');
  const given: Partial<Record<keyof Sampling, number>> = {};
  for (const { key, of } of DECODING) {
    const value = section[key];
    if (typeof value === 'number') {
      given[of] = value;
    }
  }
  return given;
}

/** What it must be: `a number from 0 to 10`. */
export const decodingWords = ({ low, high, whole }: DecodingNumber): string =>
  `a ${whole ? 'whole ' : ''}number from ${low} to ${high}`;

function policyWords(policy: PolicyChange): string {
  if ('endpoint' in policy) {
    return `model ${policy.model_name} of ${policy.endpoint}`;
  }
  return 'snapshot' in policy ? `snapshot ${policy.snapshot}` : `model ${policy.model}`;
}

/** A change in a few words: `another prompt of reasoner, temperature 0.5`. */
export function changeWords({ prompts, sampling, policy, roles }: TeamChange): string {
  return [
    ...Object.keys(prompts).map((role) => `another prompt of ${role}`),
    ...DECODING.flatMap(({ key, of }) => (sampling[of] === undefined ? [] : [`${key} ${sampling[of]}`])),
    ...(policy === null ? [] : [policyWords(policy)]),
    ...Object.entries(roles).map(([role, own]) => `${policyWords(own)} for ${role}`),
  ].join(', ');
}

/** Which problems of the last evaluation a change is tried on. */
export type TrialProblems = 'all' | 'lost';

/** A mean of paired differences with its 95 % interval, which holds at every look. */
export interface PairedDifference {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Pairs. */
  readonly n: number;
}

/** What one side of a pair said, and what it returned. */
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

/** A problem that pairs were drawn of: its mean returns, of the pairs in which both sides could be scored. */
export interface TrialProblem {
  readonly question: string;
  readonly pairs: number;
  readonly before: number;
  readonly after: number;
}

/** What a trial came to. */
export interface Trial {
  readonly run: string;
  /** The message in whose context both sides began; left out where they began with the problems. */
  readonly message?: number;
  /** Which of the problems were asked for; all where it is left out. */
  readonly only?: Selection;
  /** Roles whose servers keep to no seeds, so that the sides of a pair share no random numbers of theirs. */
  readonly unseeded?: readonly string[];
  /** Problems that pairs were drawn from; 1 for the context of a message. */
  readonly contexts: number;
  readonly difference: PairedDifference;
  /** Pairs in which the change returned more, less, or the same. */
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** Pairs of which a side could not be scored; they are left out. */
  readonly masked: number;
  /** Some of the pairs that flipped, those that the change won first. */
  readonly cases: readonly TrialCase[];
  /** In the order in which they were drawn. */
  readonly problems: readonly TrialProblem[];
  readonly evaluatorCalls: number;
  /** Tokens that were generated, without and with the change. */
  readonly tokens: { readonly before: number; readonly after: number };
  readonly seconds: number;
  /** The highest return that there is: differences are shown as a share of it. */
  readonly most: number;
  readonly sentence: string;
}

/** The bounds of a trial's budget and its default, in evaluator calls of both sides together. */
export const TRIAL_BUDGET = { least: 2, usual: 2000, most: 1_000_000 } as const;

const points = (value: number, most: number): string => signed((100 * value) / most, 0);

/** The answer in a sentence or two. */
export function trialSentence({
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
    masked === 0 ? '' : ` ${pairsWords(masked)} could not be scored and ${masked === 1 ? 'is' : 'are'} left out.`;
  const unpaired =
    unseeded.length === 0
      ? ''
      : ` Unpaired: what answers for ${listed(unseeded)} keeps to no seeds, so that the two sides share no random numbers.`;
  if (n === 0) {
    return `No pair could be scored.${left} ${spent}`;
  }
  if (better + worse === 0) {
    return `The change made no difference in any of ${pairsWords(n)}.${left}${unpaired} ${spent}`;
  }
  const flips = `better in ${better} and worse in ${worse} of ${pairsWords(n)}`;
  const size = `${points(value, most)} points [${points(low, most)}, ${points(high, most)}]`;
  const verdict = low > 0 ? 'The change helps' : high < 0 ? 'The change harms' : 'Undecided';
  return `${verdict}: ${size}, ${flips}.${left}${unpaired} ${spent}`;
}

const pairsWords = (count: number): string => `${count.toLocaleString('en-US')} ${count === 1 ? 'pair' : 'pairs'}`;

const isEpisode = (value: unknown): value is TrialEpisode =>
  isRecord(value) &&
  typeof value['return'] === 'number' &&
  Array.isArray(value['messages']) &&
  value['messages'].every((one) => isRecord(one) && typeof one['role'] === 'string' && typeof one['text'] === 'string');

const isCase = (value: unknown): value is TrialCase =>
  isRecord(value) && typeof value['question'] === 'string' && isEpisode(value['before']) && isEpisode(value['after']);

const hasNumbers = (value: unknown, keys: readonly string[]): boolean =>
  isRecord(value) && keys.every((key) => typeof value[key] === 'number');

const isProblem = (value: unknown): value is TrialProblem =>
  isRecord(value) && typeof value['question'] === 'string' && hasNumbers(value, ['pairs', 'before', 'after']);

/** Whether a value that was kept elsewhere can be shown as a trial. */
export const isTrial = (value: unknown): value is Trial =>
  isRecord(value) &&
  typeof value['run'] === 'string' &&
  typeof value['sentence'] === 'string' &&
  hasNumbers(value, ['contexts', 'better', 'worse', 'same', 'masked', 'evaluatorCalls', 'seconds', 'most']) &&
  hasNumbers(value['difference'], ['value', 'low', 'high', 'n']) &&
  hasNumbers(value['tokens'], ['before', 'after']) &&
  Array.isArray(value['cases']) &&
  value['cases'].every(isCase) &&
  Array.isArray(value['problems']) &&
  value['problems'].every(isProblem);

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecord(value) && Object.values(value).every((one) => typeof one === 'string');

const isWeightsChange = (value: unknown): value is WeightsChange =>
  isTexts(value) && Object.keys(value).length === 1 && ('snapshot' in value || 'model' in value);

const isPolicyChange = (value: unknown): value is PolicyChange =>
  isWeightsChange(value) ||
  (isTexts(value) && Object.keys(value).length === 2 && 'endpoint' in value && 'model_name' in value);

/** The same of a change. */
export const isTeamChange = (value: unknown): value is TeamChange =>
  isRecord(value) &&
  isTexts(value['prompts']) &&
  isRecord(value['sampling']) &&
  Object.values(value['sampling']).every((one) => typeof one === 'number') &&
  (value['policy'] === null || isWeightsChange(value['policy'])) &&
  isRecord(value['roles']) &&
  Object.values(value['roles']).every(isPolicyChange);
