/** The types of queries to the store and of its rows. */

import type { EnvironmentEvent, Phase } from '../domain/episode.ts';
import type { EpisodeNote } from '../domain/episodeNote.ts';
import type { FinishReason, MessagePage } from '../domain/message.ts';
import type { ProblemFilter, ProblemSort } from '../domain/problem.ts';
import type { BucketOrigin, Replay, BucketFilter, BucketOrder } from '../domain/replay.ts';
import type { Ledger } from '../domain/run.ts';
import type { Difference, VerificationResult } from '../domain/verification.ts';
import type { Credit } from '../shared/credit/credit.ts';
import type { Headline } from '../shared/credit/headline.ts';

/** A window of a list: `limit` rows from row `offset` on. */
export type Page = Readonly<Record<'offset' | 'limit', number>>;

/** One round of a run: a training iteration, an evaluation or a replay request. */
export interface Round {
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
}

/** The messages of one problem in one round: the tree that a transcript shows. `problem` is a uidSha. */
export interface TreeGroup extends Round {
  readonly problem: string;
}

/** The context of a role in a run, by which buckets are linked. */
export interface RoleContext {
  readonly run: string;
  readonly role: string;
  readonly contextKey: string;
}

/** The shape of a transcript tree, without its texts. */
export interface GroupOutline {
  /** A text that changes whenever a message, a return or a credit is added to the group. */
  readonly version: string;
  /** Every message in depth-first order, siblings by index. A parent may be outside the group. */
  readonly messages: readonly { readonly id: number; readonly parent: number | null }[];
}

/** The values by which messages of a transcript are filtered. */
export interface MessageFacts {
  readonly id: number;
  readonly role: string;
  /** The value of the shown credit, or null if there is none. */
  readonly credit: number | null;
  /** Mean return of the scored episodes at or below the message, or null if there are none. */
  readonly return: number | null;
}

export interface FoundMessages extends MessagePage {
  /** True if there are more than `total` matches, too many to rank: the newest then come first. */
  readonly more: boolean;
}

export interface QuestionQuery {
  readonly query: string;
  readonly run?: string | null;
  readonly limit: number;
}

/** A problem of a run whose question matched, with the first message of the round that it is opened at. */
export interface FoundQuestion extends TreeGroup {
  /** The beginning of the question. */
  readonly question: string;
  readonly message: number;
}

export interface BucketQuery {
  readonly run: string;
  readonly origin?: BucketOrigin;
}

export interface RankingQuery extends Page {
  readonly run: string;
  readonly order: BucketOrder;
  /** Buckets to list; default all. */
  readonly filter?: BucketFilter;
}

/** A page of the episodes of a round, in storage order. */
export interface EpisodeQuery extends Round, Page {}

/** The filter and order of a run's problems. */
export interface ProblemQuery {
  readonly run: string;
  readonly filter: ProblemFilter;
  readonly sort: ProblemSort;
  /** Taxonomy classes by uidSha. Problems that are not listed are not classified. */
  readonly classes: Readonly<Record<string, string>>;
  /** Findings on lost problems by uidSha, if there are any. */
  readonly losses?: Readonly<Record<string, { readonly order: number; readonly start: number }>>;
}

/** The place at which a transcript of a problem opens. */
export interface ProblemOpening {
  readonly target: TreeGroup;
  readonly message: number;
}

/** A message with its credit. */
export interface CreditedMessage {
  readonly message: number;
  readonly value: number;
  /** True if its interval is below 0. Otherwise it is only the clearest candidate. */
  readonly decided: boolean;
}

export interface MessageHeadline {
  readonly message: number;
  readonly credit: Headline;
}

/** A message with its headline credit, and the bucket that represents all buckets it was compared in. */
export interface PooledHeadline extends MessageHeadline {
  readonly bucket: number;
}

export interface SearchQuery extends Page {
  readonly query: string;
  readonly run?: string;
  readonly role?: string;
}

export interface NewRun {
  readonly id: string;
  readonly method: string;
  readonly seed: number;
  readonly title: string;
  /** The run's configuration as JSON text. */
  readonly config: string;
  readonly plannedSteps: number;
  /** ISO 8601. */
  readonly createdAt: string;
}

export interface NewStep {
  readonly run: string;
  readonly iteration: number;
  /** The behavior policy of this iteration. */
  readonly snapshot: string;
  /** Cumulative cost when the messages of the step were stored. */
  readonly ledger: Ledger;
}

/** Rollouts between two updates of a training step. */
export interface Stage {
  readonly iteration: number;
  /** From 1. The rollouts at the beginning of the step are stage 0. */
  readonly stage: number;
  /** The policy that sampled them. */
  readonly snapshot: string;
}

/** The account of a run: values that do not follow from its rows. */
export interface RunAccount {
  /**
   * Evaluator calls of the work that was started last and is not stored yet. At most this many are lost
   * if the run ends before.
   */
  readonly pendingCalls: number;
  /** Upper bound of the evaluator calls whose results were lost so far. */
  readonly lostCalls: number;
  /** Seconds spent on the run by all processes that worked on it. */
  readonly seconds: number;
  /** Seconds of these that were spent in training. */
  readonly trainingSeconds: number;
  /** Seconds of sampling in the training iteration whose messages were stored last. */
  readonly samplingSeconds: number;
}

/** A message as training data of the optimizer. */
export interface TrainingMessage {
  readonly bucket: number;
  readonly message: number;
  /** The message before it. */
  readonly parent: number | null;
  /** A uidSha. */
  readonly problem: string;
  readonly role: string;
  readonly turn: number;
  readonly position: number;
  /** The weights that sampled it. */
  readonly snapshot: string;
  readonly finish: FinishReason;
  readonly context: string;
  readonly promptTokens: number;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  /** Its credit by the requested estimator, or null if there is none. */
  readonly credit: number | null;
}

/** The last message of an episode, and the rules of its scores. */
export interface EpisodeRule {
  readonly leaf: number;
  /** The rules of all scored messages in order. External programs write parts of it. */
  readonly rule: string;
}

export interface MessagePlace {
  readonly message: number;
  /** Row number of its problem. */
  readonly problem: number;
  /** The message before it. */
  readonly parent: number | null;
  readonly position: number;
}

/** The cost of the replays of one origin at one position of the protocol. */
export interface ReplayCost extends Omit<PositionCost, 'environment'> {
  readonly origin: BucketOrigin;
}

/** The cost of the messages at one position of the protocol, under one environment. */
export interface PositionCost {
  readonly role: string;
  readonly position: number;
  readonly environment: number;
  readonly messages: number;
  readonly promptTokens: number;
  readonly reusedTokens: number;
  readonly completionTokens: number;
  /** Completion tokens of messages reused from an equal request, which the other sums exclude. */
  readonly reusedCompletionTokens: number;
}

/** Evaluator calls of the episodes that end at one position. */
export interface EpisodeCost {
  /** Null for a run's own training and evaluations, else the purpose of the replays. */
  readonly origin: Exclude<BucketOrigin, 'training'> | null;
  readonly position: number;
  readonly episodes: number;
  readonly evaluatorCalls: number;
}

export interface StoredCredit extends Credit {
  readonly bucket: number;
  readonly message: number;
}

/** The shown credit of a message, without its details. */
export interface RunCredit {
  readonly bucket: number;
  readonly message: number;
  readonly origin: BucketOrigin;
  readonly role: string;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** Numbers of replays by the result of their newest verification. */
export interface VerdictCounts {
  readonly identical: number;
  readonly different: number;
  readonly notComparable: number;
  readonly unverified: number;
}

/** A replay with its newest verification. `result` is null before the first one. */
export interface ReplayVerdict extends Pick<Replay, 'alternative' | 'leaf' | 'replayIndex'> {
  readonly result: VerificationResult | null;
  readonly detail: string;
  readonly difference: Difference | null;
}

/** The result of the re-execution of a stored replay, and its environment. */
export interface NewVerification {
  readonly replay: number;
  readonly result: VerificationResult;
  readonly detail: string;
  readonly environment: number;
  readonly difference?: Difference | null;
}

export interface Verification extends NewVerification {
  readonly id: number;
  readonly difference: Difference | null;
}

/** A label of the user on a message, a bucket or both. */
export interface NewLabel {
  readonly message: number | null;
  readonly bucket: number | null;
  /** Empty to remove the previous label. */
  readonly name: string;
  readonly note: string;
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

export interface Label extends NewLabel {
  readonly id: number;
}

/** One round of sampling buckets for measurements, or one imported file. */
export interface DiagnosticSample {
  readonly id: number;
  readonly run: string;
  /** JSON text. */
  readonly settings: string;
}

/** The diagnostic data of a complete bucket. Alternatives are counted by index. */
export interface DiagnosticRow {
  readonly bucket: number;
  readonly sample: number;
  /** Number of the first alternatives that are credited. */
  readonly credited: number;
  /** Index of the first independent value sample. `valueCount` is their number. */
  readonly valueFrom: number;
  readonly valueCount: number;
  /** Index of the message that was actually sent. */
  readonly real: number | null;
  /** Seconds of sampling, or null if they were not measured. `joules` is its energy. */
  readonly seconds: number | null;
  readonly joules: number | null;
  /** The unchanged line that it was imported from. */
  readonly source: string | null;
}

/** Numbers of rows by table, for `c3 doctor` and similar reports. */
export interface StoreCounts {
  readonly runs: number;
  readonly instances: number;
  readonly messages: number;
  readonly episodes: number;
  readonly buckets: number;
  readonly replays: number;
  readonly texts: number;
}

export interface NewEvent {
  readonly run: string;
  /** The message before it, or null at the start of an episode. */
  readonly parent: number | null;
  /** The event between that message and this event, or null if there is none. */
  readonly previous: number | null;
  readonly event: EnvironmentEvent;
  /** Its reward from the evaluator, or null if it is masked or not scored. */
  readonly reward: number | null;
}

export interface StoredEvent {
  readonly id: number;
  readonly event: EnvironmentEvent;
  /** Its hash at the time of appending. */
  readonly sha256: string;
}

/** The user's title, note and tags of a run. */
export interface NewRunNote {
  readonly run: string;
  readonly title: string;
  readonly note: string;
  readonly tags: readonly string[];
  /** ISO 8601. */
  readonly createdAt: string;
}

export interface NewEpisodeNote extends EpisodeNote {
  readonly run: string;
  /** The last message of the episode. */
  readonly leaf: number;
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

export interface DeletedRun {
  /** Bytes by which the file of the store shrank. */
  readonly bytes: number;
  /** Hashes of weights that no other run of the store uses. */
  readonly weights: readonly string[];
}
