/** What the store is asked with and answers in: the rows as they cross its doors. */
import type { EnvironmentEvent, Phase } from '../domain/episode.ts';
import type { EpisodeNote } from '../domain/episodeNote.ts';
import type { MessagePage } from '../domain/message.ts';
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

/** What a role was shown in a run: the context that buckets are linked by. */
export interface RoleContext {
  readonly run: string;
  readonly role: string;
  readonly contextKey: string;
}

/** The shape of a transcript tree, without its texts. */
export interface GroupOutline {
  /** Another text whenever a message, a return or a credit was added to the group. */
  readonly version: string;
  /** Every message in depth-first order, siblings by their index. A parent may be outside the group. */
  readonly messages: readonly { readonly id: number; readonly parent: number | null }[];
}

/** What a transcript is filtered by. */
export interface MessageFacts {
  readonly id: number;
  readonly role: string;
  /** The value of the credit that the message shows; null where it has none. */
  readonly credit: number | null;
  /** Mean return of what was scored at or below it; null where nothing was. */
  readonly return: number | null;
}

/** Messages found. */
export interface FoundMessages extends MessagePage {
  /** True when there are more than `total`, too many to rank: the newest then come first instead of the best. */
  readonly more: boolean;
}

export interface QuestionQuery {
  readonly query: string;
  readonly run?: string | null;
  readonly limit: number;
}

/** A problem of a run whose question was found, with the first message of the round that it is opened at. */
export interface FoundQuestion extends TreeGroup {
  /** Its beginning. */
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
  /** Which of them; all where it is left out. */
  readonly filter?: BucketFilter;
}

/** Episodes of a round, in the order in which they were appended. */
export interface EpisodeQuery extends Round, Page {}

/** Which problems of a run, and in which order. */
export interface ProblemQuery {
  readonly run: string;
  readonly filter: ProblemFilter;
  readonly sort: ProblemSort;
  /** Taxonomy classes by uidSha; problems that are not named are not classified. */
  readonly classes: Readonly<Record<string, string>>;
  /** What was found of lost problems, likewise; left out where nothing was. */
  readonly losses?: Readonly<Record<string, { readonly order: number; readonly start: number }>>;
}

/** Where a transcript opens for a problem. */
export interface ProblemOpening {
  readonly target: TreeGroup;
  readonly message: number;
}

/** A message with what it was worth. */
export interface CreditedMessage {
  readonly message: number;
  readonly value: number;
  /** Whether its interval lies below 0; else it is the clearest candidate only. */
  readonly decided: boolean;
}

/** A message with its headline credit. */
export interface MessageHeadline {
  readonly message: number;
  readonly credit: Headline;
}

/** The same, with the bucket that stands for all that it was compared in. */
export interface PooledHeadline extends MessageHeadline {
  readonly bucket: number;
}

export interface SearchQuery extends Page {
  /** Anything the user typed. */
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
  /** The behaviour policy of this iteration. */
  readonly snapshot: string;
  /** Cumulative cost when the step's messages were stored. */
  readonly ledger: Ledger;
}

/** Rollouts between two updates of a training step. */
export interface Stage {
  readonly iteration: number;
  /** From 1; what the step sampled at its beginning is stage 0. */
  readonly stage: number;
  /** The policy that sampled them. */
  readonly snapshot: string;
}

/** What a run's rows do not say. */
export interface RunAccount {
  /**
   * Evaluator calls of the work that was begun last and is not stored yet; lost, at most as many, when the run ends
   * before it is.
   */
  readonly pendingCalls: number;
  /** Evaluator calls whose results were lost so far, at most. */
  readonly lostCalls: number;
  /** Seconds spent on the run by all processes that worked on it. */
  readonly seconds: number;
  /** Those of them that went into training. */
  readonly trainingSeconds: number;
  /** Seconds that sampling took in the training iteration whose messages were stored last. */
  readonly samplingSeconds: number;
}

/** A message as the optimiser learned from it. */
export interface TrainingMessage {
  readonly bucket: number;
  readonly message: number;
  /** The message before it. */
  readonly parent: number | null;
  /** A uidSha. */
  readonly problem: string;
  readonly role: string;
  readonly position: number;
  readonly context: string;
  readonly promptTokens: number;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  /** Its credit by the estimator that was asked for; null where there is none. */
  readonly credit: number | null;
}

/** The last message of an episode, with how its evaluator came to each score. */
export interface EpisodeRule {
  readonly leaf: number;
  /** Of all scored messages in order; programs write parts of it. */
  readonly rule: string;
}

/** The place of a message in its tree. */
export interface MessagePlace {
  readonly message: number;
  /** The number of its problem in the store. */
  readonly problem: number;
  /** The message before it. */
  readonly parent: number | null;
  readonly position: number;
}

/** What the replays of one origin cost at one position of the protocol. */
export interface ReplayCost extends Omit<PositionCost, 'environment'> {
  readonly origin: BucketOrigin;
}

/** What the messages at one position of the protocol cost, under one environment. */
export interface PositionCost {
  readonly role: string;
  readonly position: number;
  readonly environment: number;
  readonly messages: number;
  readonly promptTokens: number;
  readonly reusedTokens: number;
  readonly completionTokens: number;
  /**
   * Of messages that were taken from an equal request: nothing was computed for them, and the other sums leave them
   * out.
   */
  readonly reusedCompletionTokens: number;
}

/** Evaluator calls of the episodes that end at one position. */
export interface EpisodeCost {
  /** Null for a run's own training and evaluations, else what the replays were made for. */
  readonly origin: Exclude<BucketOrigin, 'training'> | null;
  readonly position: number;
  readonly episodes: number;
  readonly evaluatorCalls: number;
}

export interface StoredCredit extends Credit {
  readonly bucket: number;
  readonly message: number;
}

/** A message's credit as it is shown, without what is behind it. */
export interface RunCredit {
  readonly bucket: number;
  readonly message: number;
  readonly origin: BucketOrigin;
  readonly role: string;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** Replays by what their newest verification showed. */
export interface VerdictCounts {
  readonly identical: number;
  readonly different: number;
  readonly notComparable: number;
  readonly unverified: number;
}

/** A replay with its newest verification; null while it was not re-executed. */
export interface ReplayVerdict extends Pick<Replay, 'alternative' | 'leaf' | 'replayIndex'> {
  readonly result: VerificationResult | null;
  readonly detail: string;
  readonly difference: Difference | null;
}

/** What the re-execution of a stored replay showed, and where it ran. */
export interface NewVerification {
  readonly replay: number;
  readonly result: VerificationResult;
  readonly detail: string;
  readonly environment: number;
  /** What differed; absent where nothing does. */
  readonly difference?: Difference | null;
}

export interface Verification extends NewVerification {
  readonly id: number;
  readonly difference: Difference | null;
}

/** The user's own word on a message or a bucket (at least one of them). */
export interface NewLabel {
  readonly message: number | null;
  readonly bucket: number | null;
  /** Empty takes the label before it back. */
  readonly name: string;
  readonly note: string;
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

export interface Label extends NewLabel {
  readonly id: number;
}

/** One round of sampling buckets to measure on, or one imported file. */
export interface DiagnosticSample {
  readonly id: number;
  readonly run: string;
  /** JSON text. */
  readonly settings: string;
}

/** What makes a complete bucket one to measure on. Alternatives are counted by their index. */
export interface DiagnosticRow {
  readonly bucket: number;
  readonly sample: number;
  /** So many of the first alternatives are credited. */
  readonly credited: number;
  /** Independent value samples: so many from this index on. */
  readonly valueFrom: number;
  readonly valueCount: number;
  /** Index of the message that was really said. */
  readonly real: number | null;
  /** What sampling it took; null where it was not measured. */
  readonly seconds: number | null;
  readonly joules: number | null;
  /** The line that it was imported from, as it was there. */
  readonly source: string | null;
}

/** Rows by table, for `c3 doctor` and the like. */
export interface StoreCounts {
  readonly runs: number;
  readonly instances: number;
  readonly messages: number;
  readonly episodes: number;
  readonly buckets: number;
  readonly replays: number;
  readonly texts: number;
}

/** An environment event as it is appended. */
export interface NewEvent {
  readonly run: string;
  /** The message that it follows; null at the start of an episode. */
  readonly parent: number | null;
  /** The event between that message and this one; null where there is none. */
  readonly previous: number | null;
  readonly event: EnvironmentEvent;
  /** What the evaluator gave it; null where that is masked, or it is not scored. */
  readonly reward: number | null;
}

/** An environment event as it is stored. */
export interface StoredEvent {
  readonly id: number;
  readonly event: EnvironmentEvent;
  /** The hash that was taken when it was appended. */
  readonly sha256: string;
}

/** What the user calls a run and says of it. */
export interface NewRunNote {
  readonly run: string;
  readonly title: string;
  readonly note: string;
  readonly tags: readonly string[];
  /** ISO 8601. */
  readonly createdAt: string;
}

/** What the user says of an episode. */
export interface NewEpisodeNote extends EpisodeNote {
  readonly run: string;
  /** The last message of the episode. */
  readonly leaf: number;
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** What went with a run. */
export interface DeletedRun {
  /** By which the store's file is smaller. */
  readonly bytes: number;
  /** Hashes of weights that no other run of the store has. */
  readonly weights: readonly string[];
}
