/**
 * The content of reports, in the form of their JSON documents. Every key is part of a contract. A
 * page of a report shows this content and nothing else.
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

/** The version changes if a key changes its meaning or is removed, but not if one is added. */
export const REPORT_VERSION = 2;

/** The beginning of a text. */
export interface Excerpt {
  readonly text: string;
  /** Characters (UTF-16 units) after it that the report leaves out. */
  readonly leftOut: number;
}

/** Items that the report leaves out, because a report has a limited size. */
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
  /** The protocol's name, or null if the run's configuration does not give it. */
  readonly protocol: string | null;
  /** A description of the model judge that scored the run, if there was one. */
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

/** One continuation to the end of the episode: the messages after a message, and its return. */
export interface Branch {
  /** The index m of a replay, or null for the run's own continuation. */
  readonly replay: number | null;
  /** Null if the evaluator failed or was not asked. */
  readonly return: number | null;
  /** In order. Empty if the message ends the episode. The last may be missing if `leftOut` > 0. */
  readonly messages: readonly ReportedMessage[];
  /** The number of this branch's first messages that the report leaves out. */
  readonly leftOut: number;
  /** The result of re-executing it, or null if that was not done. */
  readonly verification: { readonly result: VerificationResult; readonly detail: string } | null;
}

/** A headline credit with its sentence. It has no value if there was nothing to compare with. */
export interface ReportedCredit extends Omit<Headline, 'value'> {
  readonly value: number | null;
  readonly sentence: string;
}

/** A credit that has a value. */
export interface MeasuredCredit extends ReportedCredit {
  readonly value: number;
}

/** An estimator's credit of an alternative. */
export interface EstimatedCredit extends Credit {
  /** True if the store holds it. Otherwise, it was computed from the stored returns. */
  readonly stored: boolean;
}

export interface ReportedAlternative extends ReportedMessage {
  readonly index: number;
  /** True if it is the message that was replayed. */
  readonly original: boolean;
  /** One for each branch, in order. Null if the evaluator failed. */
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
  /** Its headline credit, pooled over all buckets that were continued as this one was. */
  readonly credit: ReportedCredit | null;
  /** The credits from this bucket alone, by estimator. Empty until two alternatives have a return. */
  readonly credits: readonly EstimatedCredit[];
  readonly verification: VerificationMark | null;
  readonly branches: readonly Branch[];
}

/** The assumptions behind a bucket's returns about everything after an alternative. */
export interface Continuation {
  readonly snapshot: string;
  /** The number of training steps behind these weights, or null if the store does not say. */
  readonly step: number | null;
  /** True if the weights and the temperature are those of the message. */
  readonly own: boolean;
  /** A description of the difference to the message's own distribution, or null if there is none. */
  readonly other: string | null;
  /** Null if nothing was sampled. */
  readonly sampling: Sampling | null;
  readonly environment: NumericEnvironment | null;
  /** The sharing of random numbers among the continuations, or null if no two can be compared. */
  readonly draws: Draws | null;
  readonly assumption: string;
}

export interface Cost {
  readonly evaluatorCalls: number;
  /** Further evaluations with a result from an equal message. Absent if not counted. */
  readonly reusedEvaluations?: number;
  /** Null if there are too many messages to count for a report. */
  readonly tokens: Tokens | null;
  readonly decisions: Readonly<Record<string, number>> | null;
}

/** Replays by the result of their newest verification. */
export type Verified = VerdictCounts;

/** The alternatives of one context in one sampling group. */
export interface ReportedBucket {
  readonly bucket: number;
  readonly origin: BucketOrigin;
  /** The training step, or the number of the request. */
  readonly iteration: number;
  readonly alternatives: readonly ReportedAlternative[];
  /**
   * The effect of removing the message: the mean return of the original minus that of an empty
   * message in its place. Null if none was replayed.
   */
  readonly removal: Credit | null;
  readonly continuation: Continuation;
  /** The verification of its replays, or null if it has none. */
  readonly verified: Verified | null;
  readonly cost: Cost;
}

/** One message, its alternatives, and the credit of each. */
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
    /** The mean of the scores at or below it, over `leaves` episodes. */
    readonly return: number | null;
    readonly leaves: number;
    /** Present if the user gave one of the scores. */
    readonly byHand?: true;
    /** The user's notes on its episode, if there are any. */
    readonly noted?: StoredEpisodeNote;
    /** The one credit that is shown everywhere. */
    readonly credit: ReportedCredit | null;
    /** The credit that training used, by its method's own estimator. */
    readonly trainingCredit: Credit | null;
    /** The credits by replacing it (its headline), by removing it, and against the mean of all. */
    readonly estimates: readonly MessageEstimate[];
    readonly sampling: Sampling;
    readonly snapshot: string;
    readonly environment: NumericEnvironment;
    /** The measures of the call, in words. */
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
  /** The run's own continuations, if it sampled nothing else in place of the message. */
  readonly branches: readonly Branch[];
  /** The run's own buckets first, then replays, newest first. */
  readonly buckets: readonly ReportedBucket[];
  readonly labels: readonly { readonly name: string; readonly note: string; readonly createdAt: string }[];
  readonly leftOut: readonly LeftOut[];
}

/** A point of the learning curve. */
export interface ReportedStep {
  readonly step: number;
  /**
   * The mean return of its training episodes, with its interval over problems. Null while the step
   * is unfinished, and if nothing was measured.
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
  /** The newest bucket in which it was continued. */
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
  /** Held-out accuracy over training, by step: before, at regular intervals, and after. */
  readonly evaluations: readonly EvaluationPoint[];
  /** Evaluator calls, tokens and messages of the run so far. */
  readonly cost: Cost & { readonly seconds: number | null };
  /** Replays of all kinds, including training. `requests` counts the requested ones. */
  readonly replays: { readonly requests: number; readonly replays: number; readonly verified: Verified };
  /** Credits of the training messages, by role name. */
  readonly creditByRole: readonly RoleCredits[];
  /** First those whose interval excludes 0, then others, by credit divided by interval width. */
  readonly credited: readonly CreditedMessage[];
  /** Present for a run that credits by removal. */
  readonly removal?: RemovalReport;
  /** Present if messages of its evaluations were replayed as empty. */
  readonly emptied?: readonly EmptiedEffect[];
  /** Present for a run with a trust region or a replaced policy. */
  readonly region?: RegionFacts;
  /** The configuration as it was stored. */
  readonly configuration: Excerpt;
  readonly leftOut: readonly LeftOut[];
}
