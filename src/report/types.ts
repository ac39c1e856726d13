/**
 * What a report holds, as its JSON document does: every key is part of a contract. A page of a report shows what is
 * here and nothing else.
 */
import type { MessageEstimate, Interval } from '../domain/credit.ts';
import type { Phase } from '../domain/episode.ts';
import type { StoredEpisodeNote } from '../domain/episodeNote.ts';
import type { EvaluationPoint } from '../domain/evaluation.ts';
import type { MeasuredFact, FinishReason, Sampling } from '../domain/message.ts';
import type { Draws, BucketOrigin } from '../domain/replay.ts';
import type { RunSummary, Tokens } from '../domain/run.ts';
import type { NumericEnvironment } from '../domain/snapshot.ts';
import type { StepMetrics } from '../domain/step.ts';
import type { RegionFacts } from '../domain/stepRows.ts';
import type { VerificationMark, VerificationResult } from '../domain/verification.ts';
import type { Credit } from '../shared/credit/credit.ts';
import type { Headline } from '../shared/credit/headline.ts';
import type { VerdictCounts } from '../store/types.ts';
import type { EmptiedEffect } from './emptied.ts';
import type { RemovalReport } from './removal.ts';

/** Changes when a key changes its meaning or goes; not when one is added. */
export const REPORT_VERSION = 2;

/** The beginning of a text. */
export interface Excerpt {
  readonly text: string;
  /** Characters (UTF-16 units) after it that the report leaves out. */
  readonly leftOut: number;
}

/** Something that the report leaves out, because a report is bounded. */
export interface LeftOut {
  readonly what: string;
  readonly count: number;
}

export interface ReportedRun {
  readonly run: string;
  readonly title: string;
  readonly method: string;
  readonly seed: number;
  readonly status: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly steps: number;
  readonly plannedSteps: number;
  /** The protocol's name; null where the run's configuration does not say it. */
  readonly protocol: string | null;
  /** What is said of the model judge that scored the run; left out where none did. */
  readonly judge?: string;
}

export interface ReportedMessage {
  readonly message: number;
  readonly role: string;
  readonly turn: number;
  readonly text: Excerpt;
  readonly tokens: number;
  readonly finish: FinishReason;
}

/** One way to the end of the episode: the messages after a message, and what the evaluator said of the last. */
export interface Branch {
  /** m, of a replay; null where the run itself said it. */
  readonly replay: number | null;
  /** Null where the evaluator failed, or was not asked. */
  readonly return: number | null;
  /** In order; empty where the message itself ends the episode. The last may be missing where `leftOut` says so. */
  readonly messages: readonly ReportedMessage[];
  /** Messages of this branch that the report leaves out, the first of them. */
  readonly leftOut: number;
  /** What re-executing it showed; null where that was not done. */
  readonly verification: { readonly result: VerificationResult; readonly detail: string } | null;
}

/** A headline credit with what it says in words; without a value where there was nothing to compare with. */
export interface ReportedCredit extends Omit<Headline, 'value'> {
  readonly value: number | null;
  readonly sentence: string;
}

/** One that has a value. */
export interface MeasuredCredit extends ReportedCredit {
  readonly value: number;
}

/** An estimator's word on an alternative. */
export interface EstimatedCredit extends Credit {
  /** Whether the store holds it; else it was computed from the stored returns. */
  readonly stored: boolean;
}

export interface ReportedAlternative extends ReportedMessage {
  readonly index: number;
  /** Whether it is the message that the replay was asked for. */
  readonly original: boolean;
  /** One for each branch, in order; null where the evaluator failed. */
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
  /** Its headline credit, pooled over all buckets that were continued as this one was. */
  readonly credit: ReportedCredit | null;
  /**
   * The record of this bucket alone, by estimator; empty while there are not two alternatives with a return to compare.
   */
  readonly credits: readonly EstimatedCredit[];
  readonly verification: VerificationMark | null;
  readonly branches: readonly Branch[];
}

/** What the returns of a bucket assume of everything after an alternative. */
export interface Continuation {
  readonly snapshot: string;
  /** Training steps behind these weights; null where the store does not say. */
  readonly step: number | null;
  /** Whether the weights and the temperature are those of the message. */
  readonly own: boolean;
  /** What differs, in words, where it is another distribution; null elsewhere. */
  readonly other: string | null;
  /** Null where nothing was sampled. */
  readonly sampling: Sampling | null;
  readonly environment: NumericEnvironment | null;
  /** How the continuations drew their random numbers; null where no two can be compared. */
  readonly draws: Draws | null;
  readonly assumption: string;
}

export interface Cost {
  readonly evaluatorCalls: number;
  /** Further evaluations whose result was known from an equal message; absent where these were not counted. */
  readonly reusedEvaluations?: number;
  /** Null where there are too many messages to count them for a report. */
  readonly tokens: Tokens | null;
  readonly decisions: Readonly<Record<string, number>> | null;
}

/** Replays by what their newest verification showed. */
export type Verified = VerdictCounts;

/** The alternatives of one context in one sampling group. */
export interface ReportedBucket {
  readonly bucket: number;
  readonly origin: BucketOrigin;
  /** Training step, or number of the request. */
  readonly iteration: number;
  readonly alternatives: readonly ReportedAlternative[];
  /**
   * What removing the message changes: the mean return of the original less that of an empty message in its place; null
   * where none was replayed.
   */
  readonly removal: Credit | null;
  readonly continuation: Continuation;
  /** Of its replays; null where it has none. */
  readonly verified: Verified | null;
  readonly cost: Cost;
}

/** One message, what else could have been said in its place, and what each was worth. */
export interface FindingReport {
  readonly report: 'finding';
  readonly version: number;
  readonly run: ReportedRun;
  readonly phase: Phase;
  readonly iteration: number;
  readonly place: string;
  readonly instance: {
    readonly uid: string;
    readonly question: Excerpt;
    readonly answer: Excerpt;
    readonly source: string;
    readonly level: number | null;
  };
  readonly message: ReportedMessage & {
    /** Mean of what was scored at or below it, of `leaves` episodes. */
    readonly return: number | null;
    readonly leaves: number;
    /** Where the user gave one of them. */
    readonly byHand?: true;
    /** What the user says of its episode, where anything. */
    readonly noted?: StoredEpisodeNote;
    /** The one credit that it shows everywhere. */
    readonly credit: ReportedCredit | null;
    /** What training learned from it, by its method's own estimator. */
    readonly trainingCredit: Credit | null;
    /** By replacing it, which is its credit; by removing it; against the mean of all. */
    readonly estimates: readonly MessageEstimate[];
    readonly sampling: Sampling;
    readonly snapshot: string;
    readonly environment: NumericEnvironment;
    /** What was measured of the call, in words. */
    readonly measured: readonly MeasuredFact[];
  };
  /** The exact model input that the message answers. */
  readonly context: {
    readonly key: string;
    readonly tokens: number;
    readonly reusedTokens: number;
    readonly text: Excerpt;
  };
  /** The messages of the episode before it. */
  readonly before: readonly ReportedMessage[];
  /** How the run itself went on from it, where it sampled nothing else in its place. */
  readonly branches: readonly Branch[];
  /** The run's own first, then replays, newest first. */
  readonly buckets: readonly ReportedBucket[];
  readonly labels: readonly { readonly name: string; readonly note: string; readonly createdAt: string }[];
  readonly leftOut: readonly LeftOut[];
}

/** A point of the learning curve. */
export interface ReportedStep {
  readonly step: number;
  /**
   * Of its training episodes, with its interval over problems; null while the step is unfinished, and where nothing
   * was measured.
   */
  readonly meanReturn: Interval | null;
  readonly episodes: number;
  /** Cumulative. */
  readonly evaluatorCalls: number;
  readonly tokens: Tokens;
  readonly metrics: StepMetrics | null;
}

/** A message of the run with its credit. */
export interface CreditedMessage {
  readonly message: number;
  /** The newest bucket that it was continued in. */
  readonly bucket: number;
  readonly origin: BucketOrigin;
  readonly iteration: number;
  readonly role: string;
  readonly text: Excerpt;
  readonly question: Excerpt;
  readonly returns: readonly (number | null)[];
  readonly credit: MeasuredCredit;
  readonly verification: VerificationMark | null;
}

export interface RoleCredits {
  readonly role: string;
  /** Messages with a credit. */
  readonly n: number;
  readonly low: number;
  readonly lowerQuartile: number;
  readonly median: number;
  readonly upperQuartile: number;
  readonly high: number;
}

export interface RunReport {
  readonly report: 'run';
  readonly version: number;
  readonly run: ReportedRun;
  /** Null until the run is done. */
  readonly summary: Omit<RunSummary, 'store'> | null;
  readonly steps: readonly ReportedStep[];
  /** Held-out accuracy over training, by step: before, every so many steps, after. */
  readonly evaluations: readonly EvaluationPoint[];
  /** Evaluator calls, tokens and messages of the run so far. */
  readonly cost: Cost & { readonly seconds: number | null };
  /** Replays of all kinds, training among them; `requests` counts those that somebody asked for. */
  readonly replays: { readonly requests: number; readonly replays: number; readonly verified: Verified };
  /** Of the training messages, by name. */
  readonly creditByRole: readonly RoleCredits[];
  /** First those whose interval leaves 0, then the others, by the amount for the width of the interval. */
  readonly credited: readonly CreditedMessage[];
  /** Of a run that credits by removal; absent for every other. */
  readonly removal?: RemovalReport;
  /** Where messages of its evaluations were replayed with nothing in their place. */
  readonly emptied?: readonly EmptiedEffect[];
  /** Of a run with a trust region or a replaced policy; absent for every other. */
  readonly region?: RegionFacts;
  /** The configuration as it was stored. */
  readonly configuration: Excerpt;
  readonly leftOut: readonly LeftOut[];
}
