/** The failure taxonomy: its thresholds, the user's labels, and the contents of a view of a run. */

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
 * Number of rounds in which the returns of every bucket are dealt out anew among its messages, as if
 * the messages did not differ. `chance` is the mean count over the rounds, with its least and greatest
 * count. The count of a run whose messages do not differ is outside the range of 39 rounds one time in
 * 20 (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 4.2).
 */
export const CHANCE_ROUNDS = 39;

/** The meaning of `chance`, for users. */
export const CHANCE_MEANING = `By chance: what a class counts where messages make no difference, the mean and the range of ${CHANCE_ROUNDS} rounds in which the returns of every bucket are dealt out anew among its messages.`;

/** `by chance 3.2 [1, 6]`. */
export function formatChanceCount({ value, low, high }: Interval): string {
  return `by chance ${Number(value.toFixed(1))} [${low ?? 0}, ${high ?? 0}]`;
}

/** The share of losses within reach that fresh messages save in place of a class's flagged ones. */
export interface SavedShare {
  readonly share: Interval;
  /** The share that equally many cases save if they are chosen at random. */
  readonly random: number;
}

/** The meaning of a saved share, for users. */
export const SAVED_MEANING =
  'Saved: the share of the losses within reach that fresh messages in the place of those of a class win back, each case classified on one half of its replays and measured on the other; at random, that of as many cases.';

/** `saves 34 % [28, 41] of what was within reach, at random 12 %`. */
export function describeSavedShare({ share: { value, low, high }, random }: SavedShare): string {
  const bounds = low === null || high === null ? '' : ` [${percent(low)}, ${percent(high)}]`;
  return `saves ${percent(value)} %${bounds} of what was within reach, at random ${percent(random)} %`;
}

const percent = (share: number): string => String(Math.round(100 * share));

export interface TaxonomyClass {
  readonly name: TaxonomyClassName;
  readonly count: number;
  /** The count that is expected by chance alone (see CHANCE_ROUNDS). */
  readonly chance: Interval;
  /** Null if possibly nothing was within reach. */
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

/** The paper's values. The paper has no significance level; 0.05 is the usual one. */
export const TAXONOMY_THRESHOLDS: TaxonomyThresholds = {
  shift: 0.2,
  ambiguity: 0.01,
  misleading: 0.5,
  significance: 0.05,
};

/** Greatest value of a threshold; the least is 0. Returns may have any scale, but a level is at most 1. */
export const THRESHOLD_LIMITS: TaxonomyThresholds = { shift: 1e6, ambiguity: 1e6, misleading: 1e6, significance: 1 };

/** Returns true if every threshold is in its range. */
export function areThresholds(value: Readonly<Record<ThresholdName, number>>): boolean {
  return THRESHOLD_NAMES.every(
    (name) => Number.isFinite(value[name]) && value[name] >= 0 && value[name] <= THRESHOLD_LIMITS[name],
  );
}

export function sameThresholds(a: TaxonomyThresholds, b: TaxonomyThresholds): boolean {
  return THRESHOLD_NAMES.every((name) => a[name] === b[name]);
}

/** Formats all thresholds in one line: `misleading < 0.5, ambiguity < 0.01, shift > 0.2, level 0.05`. */
export function formatThresholds({ misleading, ambiguity, shift, significance }: TaxonomyThresholds): string {
  return `misleading < ${misleading}, ambiguity < ${ambiguity}, shift > ${shift}, level ${significance}`;
}

export const UNCLASSIFIED = 'unclassified';

/** The verdict of a bucket whose measured returns are all full successes. No failure class counts it. */
export const ALL_SUCCEEDED = 'all succeeded';

/** A class, or one of the two names for buckets without a class. */
export type VerdictName = TaxonomyClassName | typeof UNCLASSIFIED | typeof ALL_SUCCEEDED;

/** The order in which the rules are tried; the first rule that holds decides. */
export const PRECEDENCE = [
  'Misleading Plan',
  'Evaluator Ambiguity',
  'Successful Credit Shift',
  'Over-Coupling',
] as const satisfies readonly TaxonomyClassName[];

/** The four classes in order of precedence, then unclassified buckets, then those without a failure. */
export const VERDICTS = [...PRECEDENCE, UNCLASSIFIED, ALL_SUCCEEDED] as const satisfies readonly VerdictName[];

export function isVerdictName(name: string): name is VerdictName {
  return name === UNCLASSIFIED || name === ALL_SUCCEEDED || TAXONOMY_CLASSES.some((known) => known === name);
}

/** The meaning of each verdict, for users. The names of the classes are the paper's (C3, appendix N). */
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

/** Buckets of a run that are not counted as its cases, by reason. */
export interface LeftOutBuckets {
  /** Requested replays: they show what a user examined, not how the run fails. */
  readonly requested: number;
  /** Buckets that another model or protocol than the run's continued. */
  readonly otherDistribution: number;
}

/** Describes the buckets that were left out in one sentence, or returns null if there are none. */
export function describeLeftOut({ requested, otherDistribution }: LeftOutBuckets): string | null {
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

/** The author of labels in a workspace. */
export const LABEL_AUTHOR = 'you';

/** What the returns of a run's buckets cannot decide. */
export interface UnmeasuredClasses {
  /** Buckets with fewer than two messages that have a return. */
  readonly alone: number;
  /** Classes whose rule no bucket can decide, in order of precedence. */
  readonly classes: readonly TaxonomyClassName[];
}

/** Describes what is not measured in up to two sentences, or returns null if every rule can be decided everywhere. */
export function describeUnmeasured({ alone, classes }: UnmeasuredClasses): string | null {
  const several = classes.length > 1;
  const parts = [
    ...(alone === 0
      ? []
      : [
          `${alone} ${alone === 1 ? 'bucket has' : 'buckets have'} fewer than two messages with a return, ` +
            'so that nothing is compared there.',
        ]),
    // Without any comparison, the first sentence is the whole reason.
    ...(classes.length === 0 || classes.length === PRECEDENCE.length
      ? []
      : [
          `${classes.join(' and ')} ${several ? 'are not measured: they need' : 'is not measured: it needs'} ` +
            'several replays of each message; c3 diagnose --sample adds them.',
        ]),
  ];
  return parts.length === 0 ? null : parts.join(' ');
}

/** The user's label of a case. An empty name withdraws the label before it. */
export interface CaseLabel {
  readonly name: string;
  readonly note: string;
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/**
 * Returns a sentence on why a label cannot be stored, or null if it can. An empty name, which
 * withdraws a label, is valid.
 */
export function labelFault(name: string, note: string): string | null {
  if (/\p{Cc}/u.test(name)) {
    return 'A label must be one line without control characters.';
  }
  if (name !== name.trim()) {
    return 'A label cannot begin or end with a space.';
  }
  if (countCharacters(name) > LABEL_LIMIT) {
    return `A label has at most ${LABEL_LIMIT} characters; this one has ${countCharacters(name)}. Put the rest in the note.`;
  }
  if (countCharacters(note) > NOTE_LIMIT) {
    return `A note has at most ${NOTE_LIMIT} characters; this one has ${countCharacters(note)}.`;
  }
  return null;
}

function countCharacters(text: string): number {
  return Array.from(text).length;
}

/** Returns the newest label, or null if it withdraws the others. @param labels oldest first */
export function findCurrentLabel<L extends CaseLabel>(labels: readonly L[]): L | null {
  const newest = labels.at(-1);
  return newest === undefined || newest.name === '' ? null : newest;
}

export interface DetectorReport {
  readonly name: string;
  /** Episodes in which the pattern was detected, of `measured`. */
  readonly count: number;
  readonly measured: number;
  /** Episodes for which it cannot be determined. */
  readonly notMeasured: number;
  /** The first of these episodes. */
  readonly cases: readonly { readonly message: number; readonly question: string; readonly evidence: string }[];
  /** The reason why the first unmeasured episode was not measured. */
  readonly reason: string | null;
}

/** The agreement of the user's labels with the classes. Only labels that are verdict names count. */
export interface TaxonomyAgreement {
  /** Cases with such labels; `agreed` got the same class. */
  readonly n: number;
  readonly agreed: number;
  /** Cohen's kappa; null if it is not measured, with the reason in `reason`. */
  readonly kappa: Interval | null;
  readonly standardError: number | null;
  readonly reason: string | null;
  /** Cases with labels in the user's own words, which are left out because no class can agree with them. */
  readonly ownWords: number;
}

export const LABEL_FILTERS = ['all', 'labelled', 'unlabelled', 'disagreement'] as const;
export type LabelFilter = (typeof LABEL_FILTERS)[number];

/** The filter of the listed cases; null is all. */
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
  /** Largest number of rows. */
  readonly limit: number;
  /** If false, an earlier reading of the run suffices, however much the run has grown. */
  readonly fresh: boolean;
  /** If true, the view includes the classes of the run's problems. */
  readonly problems?: boolean;
}

export interface VerdictCount {
  readonly name: VerdictName;
  readonly count: number;
  /** Count with the paper's thresholds. */
  readonly published: number;
  /** The count that is expected by chance alone (see CHANCE_ROUNDS). */
  readonly chance: Interval;
}

/** A run's taxonomy with given thresholds and filter. */
export interface TaxonomyView {
  readonly run: string;
  readonly buckets: number;
  readonly thresholds: TaxonomyThresholds;
  /** In the order of VERDICTS, over all buckets regardless of the filter. */
  readonly counts: readonly VerdictCount[];
  readonly leftOut: LeftOutBuckets;
  readonly unmeasured: UnmeasuredClasses;
  /** Buckets that have another class with the paper's thresholds. */
  readonly changed: number;
  readonly roles: readonly string[];
  readonly agreement: TaxonomyAgreement;
  /**
   * Over the number of episodes in `episodes`: those of the last evaluation, or else of the last
   * training iteration.
   */
  readonly detectors: readonly DetectorReport[];
  readonly episodes: number;
  /** Number of cases that match the filter; `rows` holds the first of them. */
  readonly matching: number;
  readonly rows: readonly TaxonomyRow[];
  /** The class of each problem with the paper's thresholds; present only on request. */
  readonly problems?: readonly ProblemClassRow[];
}

export interface LabelParams {
  readonly bucket: number;
  readonly name: string;
  readonly note: string;
}
