/** Whether a change helps a team: what was changed, what came of it on the same problems, and in words. Pure. */
import { signed } from '../shared/text/figures.ts';
import type { Sampling } from './records.ts';

/** What another variant of a team does otherwise. */
export interface TeamChange {
  /** Prompts by role. */
  readonly prompts: Readonly<Record<string, string>>;
  readonly sampling: Partial<Sampling>;
  /** A snapshot of the run, or the folder of another model, that answers for the team; null where it stays. */
  readonly policy: PolicyChange | null;
  /** The same for one role alone. */
  readonly roles: Readonly<Record<string, PolicyChange>>;
}
export type PolicyChange = { readonly snapshot: string } | { readonly model: string };

export const NO_CHANGE: TeamChange = { prompts: {}, sampling: {}, policy: null, roles: {} };

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

/** What a trial came to. */
export interface Trial {
  readonly run: string;
  /** Problems that pairs were drawn from. */
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

/** The answer in one sentence. */
export function trialSentence({
  difference: { value, low, high, n },
  better,
  worse,
  most,
  evaluatorCalls,
}: Omit<Trial, 'sentence'>): string {
  const spent = `${evaluatorCalls.toLocaleString('en-US')} ${evaluatorCalls === 1 ? 'call' : 'calls'}.`;
  if (n === 0) {
    return `No pair could be scored. ${spent}`;
  }
  if (better + worse === 0) {
    return `The change made no difference in any of ${n.toLocaleString('en-US')} pairs. ${spent}`;
  }
  const flips = `better in ${String(better)} and worse in ${String(worse)} of ${n.toLocaleString('en-US')} pairs`;
  const size = `${points(value, most)} points [${points(low, most)}, ${points(high, most)}]`;
  const verdict = low > 0 ? 'The change helps' : high < 0 ? 'The change harms' : 'Undecided';
  return `${verdict}: ${size}, ${flips}. ${spent}`;
}
