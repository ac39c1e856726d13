/**
 * The failure taxonomy as every process speaks of it: its thresholds, the user's labels, and what a view of a run
 * shows.
 */
import type { Interval } from './credit.ts';
import type { ProblemClassRow } from './problem.ts';
import type { BucketOrigin } from './replay.ts';

export const TAXONOMY_CLASSES = [
  'Successful Credit Shift',
  'Evaluator Ambiguity',
  'Misleading Plan',
  'Over-Coupling',
] as const;
export type TaxonomyClassName = (typeof TAXONOMY_CLASSES)[number];

export interface TaxonomyCase {
  readonly bucket: number;
  /** The message that a click opens. */
  readonly message: number;
  readonly role: string;
  readonly question: string;
  readonly evidence: string;
}

/**
 * How often the returns of every bucket are dealt out anew among its messages, as if these did not differ. `chance` is
 * the mean count over the rounds, from the least to the greatest: a run whose messages do not differ counts outside of
 * 39 rounds one time in 20 (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 4.2).
 */
export const CHANCE_ROUNDS = 39;

/** What `chance` is, in one or two sentences. */
export const CHANCE_MEANING = `By chance: what a class counts where messages make no difference, the mean and the range of ${CHANCE_ROUNDS} rounds in which the returns of every bucket are dealt out anew among its messages.`;

/** `by chance 3.2 [1, 6]`. */
export function chanceWords({ value, low, high }: Interval): string {
  return `by chance ${Number(value.toFixed(1))} [${low ?? 0}, ${high ?? 0}]`;
}

/** What fresh messages in the place of those that a class flags save of the losses within reach. */
export interface SavedShare {
  readonly share: Interval;
  /** What as many cases save that are chosen at random. */
  readonly random: number;
}

/** What a saved share is, in a sentence. */
export const SAVED_MEANING =
  'Saved: the share of the losses within reach that fresh messages in the place of those of a class win back, each case classified on one half of its replays and measured on the other; at random, that of as many cases.';

/** `saves 34 % [28, 41] of what was within reach, at random 12 %`. */
export function savedWords({ share: { value, low, high }, random }: SavedShare): string {
  const bounds = low === null || high === null ? '' : ` [${percent(low)}, ${percent(high)}]`;
  return `saves ${percent(value)} %${bounds} of what was within reach, at random ${percent(random)} %`;
}

const percent = (share: number): string => String(Math.round(100 * share));

export interface TaxonomyClass {
  readonly name: TaxonomyClassName;
  readonly count: number;
  /** What it would count by chance alone (see CHANCE_ROUNDS). */
  readonly chance: Interval;
  /** Null where it may as well be nothing that was within reach. */
  readonly saved: SavedShare | null;
  readonly cases: readonly TaxonomyCase[];
}

export interface TaxonomyThresholds {
  /** Successful Credit Shift: best mean return - real mean return is greater. */
  readonly shift: number;
  /** Evaluator Ambiguity: greatest return - smallest return is less. */
  readonly ambiguity: number;
  /** Misleading Plan: best mean return is less. */
  readonly misleading: number;
  /** Level of the F test that keeps a bucket out of Over-Coupling. */
  readonly significance: number;
}

export type ThresholdName = keyof TaxonomyThresholds;

export const THRESHOLD_NAMES = [
  'misleading',
  'ambiguity',
  'shift',
  'significance',
] as const satisfies readonly ThresholdName[];

/** The paper's values, and the usual level of a test, of which it says nothing. */
export const TAXONOMY_THRESHOLDS: TaxonomyThresholds = {
  shift: 0.2,
  ambiguity: 0.01,
  misleading: 0.5,
  significance: 0.05,
};

/** Greatest value that a threshold may take; the least is 0. Returns may have any scale, a level has not. */
export const THRESHOLD_LIMITS: TaxonomyThresholds = { shift: 1e6, ambiguity: 1e6, misleading: 1e6, significance: 1 };

/** Whether every threshold can be used. */
export function areThresholds(value: Readonly<Record<ThresholdName, number>>): boolean {
  return THRESHOLD_NAMES.every(
    (name) => Number.isFinite(value[name]) && value[name] >= 0 && value[name] <= THRESHOLD_LIMITS[name],
  );
}

export function sameThresholds(a: TaxonomyThresholds, b: TaxonomyThresholds): boolean {
  return THRESHOLD_NAMES.every((name) => a[name] === b[name]);
}

/** All thresholds in one line: `misleading < 0.5, ambiguity < 0.01, shift > 0.2, level 0.05`. */
export function thresholdWords({ misleading, ambiguity, shift, significance }: TaxonomyThresholds): string {
  return `misleading < ${misleading}, ambiguity < ${ambiguity}, shift > ${shift}, level ${significance}`;
}

export const UNCLASSIFIED = 'unclassified';

/** A bucket whose every measured return is a full success: it shows no failure, so no failure class counts it. */
export const ALL_SUCCEEDED = 'all succeeded';

/** A class, or none of them. */
export type VerdictName = TaxonomyClassName | typeof UNCLASSIFIED | typeof ALL_SUCCEEDED;

/** The order in which the rules are tried; the first that holds decides. */
export const PRECEDENCE = [
  'Misleading Plan',
  'Evaluator Ambiguity',
  'Successful Credit Shift',
  'Over-Coupling',
] as const satisfies readonly TaxonomyClassName[];

/** The four classes in the order of precedence, what fits none of them, and what is no failure. */
export const VERDICTS = [...PRECEDENCE, UNCLASSIFIED, ALL_SUCCEEDED] as const satisfies readonly VerdictName[];

export function isVerdictName(name: string): name is VerdictName {
  return name === UNCLASSIFIED || name === ALL_SUCCEEDED || TAXONOMY_CLASSES.some((known) => known === name);
}

/** What each verdict means, in one or two sentences. The names of the classes are the paper's (C3, appendix N). */
export const VERDICT_MEANING: Readonly<Record<VerdictName, string>> = {
  'Misleading Plan': 'Whatever the later roles do with any of the plans, they mostly fail.',
  'Evaluator Ambiguity': 'All alternatives return the same: the evaluator does not distinguish these messages.',
  'Successful Credit Shift':
    "The paper's name for a failure that credit can find: another message in the same context returns clearly more than the one " +
    'that was taken, so credit shifts to that other message. The best is chosen on one half of its replays and compared on the other.',
  'Over-Coupling': 'Returns differ more below one message than between the messages: what follows decides.',
  [UNCLASSIFIED]: 'No rule holds, or fewer than two alternatives have a return.',
  [ALL_SUCCEEDED]: 'Every measured return is a full success: no failure, so no class counts it.',
};

/** Buckets of a run that are no cases of it, by the reason. */
export interface LeftOutBuckets {
  /** Replays that somebody asked for: they show what was looked at, not how the run fails. */
  readonly requested: number;
  /** Continued by another model or protocol than the run's. */
  readonly otherDistribution: number;
}

/** What was left out, in one sentence; null where nothing was. */
export function leftOutWords({ requested, otherDistribution }: LeftOutBuckets): string | null {
  const parts = [
    ...(requested === 0 ? [] : [`${requested} requested ${requested === 1 ? 'replay' : 'replays'}`]),
    ...(otherDistribution === 0
      ? []
      : [
          `${otherDistribution} ${otherDistribution === 1 ? 'bucket' : 'buckets'} of another continuation distribution`,
        ]),
  ];
  if (parts.length === 0) {
    return null;
  }
  return `Not counted: ${parts.join(' and ')}, which ${requested + otherDistribution === 1 ? 'is not a case' : 'are not cases'} of this run.`;
}

/** Longest label and note, in characters. */
export const LABEL_LIMIT = 80;
export const NOTE_LIMIT = 2000;

/** Who writes the labels of a workspace. */
export const LABEL_AUTHOR = 'you';

/** The user's word on a case. An empty name takes the word before it back. */
export interface CaseLabel {
  readonly name: string;
  readonly note: string;
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** Why a label cannot be stored, in one sentence; null when it can. An empty name, which takes a label back, can. */
export function labelFault(name: string, note: string): string | null {
  if (/\p{Cc}/u.test(name)) {
    return 'A label must be one line without control characters.';
  }
  if (name !== name.trim()) {
    return 'A label cannot begin or end with a space.';
  }
  if (lengthOf(name) > LABEL_LIMIT) {
    return `A label has at most ${LABEL_LIMIT} characters; this one has ${lengthOf(name)}. Put the rest in the note.`;
  }
  if (lengthOf(note) > NOTE_LIMIT) {
    return `A note has at most ${NOTE_LIMIT} characters; this one has ${lengthOf(note)}.`;
  }
  return null;
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

/** The label that counts: the newest, unless it takes the one before back. @param labels oldest first */
export function currentLabel<L extends CaseLabel>(labels: readonly L[]): L | null {
  const newest = labels.at(-1);
  return newest === undefined || newest.name === '' ? null : newest;
}

export interface DetectorReport {
  readonly name: string;
  /** Episodes in which it is present, of `measured`. */
  readonly count: number;
  readonly measured: number;
  /** Episodes for which it cannot be known. */
  readonly notMeasured: number;
  /** The first of them. */
  readonly cases: readonly { readonly message: number; readonly question: string; readonly evidence: string }[];
  /** Why the first that was not measured was not. */
  readonly reason: string | null;
}

/** How the user's labels agree with the classes; only labels that name a class, or none of them, can. */
export interface TaxonomyAgreement {
  /** Cases so labelled, and those of them that got the same class. */
  readonly n: number;
  readonly agreed: number;
  /** Cohen's kappa; null where it is not measured, with the reason. */
  readonly kappa: Interval | null;
  readonly standardError: number | null;
  readonly reason: string | null;
  /** Cases labelled in the user's own words, which no class can agree with: left out. */
  readonly ownWords: number;
}

export const LABEL_FILTERS = ['all', 'labelled', 'unlabelled', 'disagreement'] as const;
export type LabelFilter = (typeof LABEL_FILTERS)[number];

/** Which cases are listed; null is all. */
export interface TaxonomyFilter {
  readonly verdict: VerdictName | null;
  readonly role: string | null;
  readonly labels: LabelFilter;
}

export const NO_FILTER: TaxonomyFilter = { verdict: null, role: null, labels: 'all' };

export interface TaxonomyRow {
  readonly bucket: number;
  /** The message that a click opens; null for a bucket that is still empty. */
  readonly message: number | null;
  readonly origin: BucketOrigin;
  readonly iteration: number;
  readonly role: string;
  readonly question: string;
  readonly verdict: VerdictName;
  /** Its class with the paper's thresholds. */
  readonly published: VerdictName;
  readonly evidence: string;
  readonly label: CaseLabel | null;
}

export interface TaxonomyParams {
  readonly run: string;
  readonly thresholds: TaxonomyThresholds;
  readonly filter: TaxonomyFilter;
  /** So many rows at most. */
  readonly limit: number;
  /** False: what was read of the run before will do, however it has grown. */
  readonly fresh: boolean;
  /** Asks for the classes of the run's problems, too. */
  readonly problems?: boolean;
}

export interface VerdictCount {
  readonly name: VerdictName;
  readonly count: number;
  /** With the paper's thresholds. */
  readonly published: number;
  /** What it would count by chance alone (see CHANCE_ROUNDS). */
  readonly chance: Interval;
}

/** A run's taxonomy for one choice of thresholds and filter. */
export interface TaxonomyView {
  readonly run: string;
  readonly buckets: number;
  readonly thresholds: TaxonomyThresholds;
  /** In the order of VERDICTS, over all buckets whatever the filter. */
  readonly counts: readonly VerdictCount[];
  readonly leftOut: LeftOutBuckets;
  /** Buckets that the paper's thresholds put elsewhere. */
  readonly changed: number;
  readonly roles: readonly string[];
  readonly agreement: TaxonomyAgreement;
  /** Over `episodes` episodes: those of the last evaluation, or of the last training iteration where there is none. */
  readonly detectors: readonly DetectorReport[];
  readonly episodes: number;
  /** Cases that the filter lets through, and the first of them. */
  readonly matching: number;
  readonly rows: readonly TaxonomyRow[];
  /** The class of each problem by the paper's thresholds; only where it was asked for. */
  readonly problems?: readonly ProblemClassRow[];
}

export interface LabelParams {
  readonly bucket: number;
  readonly name: string;
  readonly note: string;
}
