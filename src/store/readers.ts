/**
 * The read operations of a store, by topic. Every function throws C3Error('store') if the store cannot
 * be read, and C3Error('input') for an unknown id or an invalid page. Lists of something that does not
 * exist are empty.
 */

import type { Episode } from '../domain/episode.ts';
import type { StoredEpisodeNote } from '../domain/episodeNote.ts';
import type { StoredEvaluation } from '../domain/evaluation.ts';
import type { EpisodeMeasured, Measured, FullMessage, Message, MessagePage } from '../domain/message.ts';
import type { Problem, ProblemFacets, ProblemRow } from '../domain/problem.ts';
import type {
  Bucket,
  BucketView,
  Replay,
  OtherContinuation,
  OwnContinuation,
  BucketFilter,
  BucketKind,
  BucketOrder,
  RankedBucket,
  BucketOrigin,
} from '../domain/replay.ts';
import type { Ledger, RunRecord } from '../domain/run.ts';
import type { NumericEnvironment, Snapshot } from '../domain/snapshot.ts';
import type { Step, StoredMethodState } from '../domain/step.ts';
import type { RoundCost, StepCredits } from '../domain/stepRows.ts';
import type { ReturnScale } from '../shared/credit/returns.ts';
import type { SpentSoFar } from '../shared/endpointCost.ts';
import type {
  Page,
  Round,
  TreeGroup,
  ProblemOpening,
  ProblemQuery,
  RoleContext,
  GroupOutline,
  MessageFacts,
  EpisodeQuery,
  CreditedMessage,
  MessageHeadline,
  PooledHeadline,
  FoundMessages,
  FoundQuestion,
  QuestionQuery,
  BucketQuery,
  RankingQuery,
  SearchQuery,
  Stage,
  RunAccount,
  TrainingMessage,
  ReplayCost,
  PositionCost,
  EpisodeCost,
  EpisodeRule,
  MessagePlace,
  StoredCredit,
  RunCredit,
  VerdictCounts,
  ReplayVerdict,
  Verification,
  StoredEvent,
  Label,
  DiagnosticSample,
  DiagnosticRow,
} from './rowTypes.ts';

export interface RunReader {
  /**
   * Returns the run.
   * @throws C3Error('input') if it does not exist
   */
  run(id: string): RunRecord;
  /** Returns the configuration of the run, the JSON text given to insertRun. */
  runConfig(id: string): string;
  /** Returns the scale of the returns of a run, or null if its evaluator is not known. */
  returnScale(run: string): ReturnScale | null;
  /** Lists runs, newest first. */
  runs(offset: number, limit: number): RunRecord[];
  countRuns(): number;
  /** Lists steps in the order of iterations. The metrics of an unfinished step are null. */
  steps(run: string, offset: number, limit: number): Step[];
  countSteps(run: string): number;
  /** Lists the records of these weights, one for each run that has them. */
  snapshots(id: string): Snapshot[];
  /**
   * Lists the snapshots that the run had after its steps, in the order of iterations, without weights
   * between two updates and without other models that continued replays.
   */
  snapshotsOfRun(run: string): Snapshot[];
  environment(id: number): NumericEnvironment;
  /** Lists the complete evaluations of a run, by step. */
  evaluations(run: string): StoredEvaluation[];
  /** Lists the numbers of the evaluations that a run has episodes of, complete or not, ascending. */
  evaluationNumbers(run: string): number[];
}

export interface CostReader {
  /** Returns the cost of one round. An episode counts every scored message on its path. */
  roundCost(round: Round): RoundCost;
  /** Returns the cumulative cost of a run at the end of its last finished step, or null before the first. */
  latestLedger(run: string): Ledger | null;
  /** Returns the number of requests of a run and its replays to the server of a role, and their tokens. */
  spent(run: string, role: string): SpentSoFar;
  /** Lists the cost of a run's own messages by position, in the order of appearance. */
  costs(run: string): PositionCost[];
  /** Lists the cost of a run's replays, in addition to its own messages, by origin and position. */
  replayCosts(run: string): ReplayCost[];
  /**
   * Lists the evaluator calls of a run's episodes. If a message has less than one call, results were
   * reused from equal ones.
   */
  episodeCosts(run: string): EpisodeCost[];
  /** Returns the account of the run, or null if it has none yet. */
  account(run: string): RunAccount | null;
}

/** The data that training steps learned from, and the state that they carry on. */
export interface TrainingReader {
  /** Returns the credits of the messages of a training iteration when it learned from them. */
  stepCredits(run: string, iteration: number): StepCredits;
  /** Lists the returns that a training iteration learns from, in storage order; null for masked. */
  learnedReturns(run: string, iteration: number): (number | null)[];
  /** Lists the episodes of learnedReturns with the rules of their scores. */
  learnedRules(run: string, iteration: number): EpisodeRule[];
  /** Lists the messages that a training iteration learns from, in storage order. */
  learnedPlaces(run: string, iteration: number): MessagePlace[];
  /** Lists the stored stages of a training step in order; none if it samples only at its beginning. */
  stages(run: string, iteration: number): Stage[];
  /** Returns the first stage of a run that these weights sampled, or null if there is none. */
  stageOfSnapshot(run: string, snapshot: string): Stage | null;
  /**
   * Returns the state that a run's method carried on after a step or one of its stages, or null if it
   * carries none or the messages are not stored.
   */
  methodState(run: string, iteration: number, stage?: number): StoredMethodState | null;
  /** Lists the messages of a stage (default 0) in storage order: buckets, then alternatives. */
  trainingMessages(run: string, iteration: number, estimator: string, stage?: number): TrainingMessage[];
}

export interface EpisodeReader {
  /** Returns the problem with a uidSha. */
  problem(uidSha: string): Problem;
  episodes(query: EpisodeQuery): Episode[];
  countEpisodes(round: Round): number;
  /** Lists the environment events directly before a message, or after the last of an episode. */
  environmentEvents(message: number, side: 'before' | 'after'): StoredEvent[];
  /** Counts the episodes of a run's training and evaluations that the evaluator failed to score. */
  maskedEpisodes(run: string): number;
  /** Returns the message with its tokens and its context. */
  fullMessage(id: number): FullMessage;
  message(id: number): Message;
  messageRun(id: number): string;
  /** Returns many messages in the order of the ids, much faster than one by one. */
  messages(ids: readonly number[]): Message[];
  /** Lists the messages of any phase whose parent this is, by phase and sibling index. */
  children(message: number): Message[];
  /** Lists the messages from the root of the episode to this one. */
  chain(leaf: number): Message[];
  /** Lists the last messages of the episodes through a message in its own round, in tree order. */
  lastMessages(message: number): number[];
  /**
   * Returns the recorded settings that continue the alternatives of a message: its own weights and
   * temperature, or the temperature of the run if the message was picked greedily.
   */
  ownContinuation(message: number): OwnContinuation;
}

/** Transcripts as trees, and the values that are shown and filtered in them. */
export interface TranscriptReader {
  /** Returns the measurements of a message, or null if it is not in the store. */
  measured(message: number): Measured | null;
  /** Returns the combined measurements of the episodes of a problem in a round. */
  episodesMeasured(group: TreeGroup): EpisodeMeasured;
  /** Returns one window of a transcript tree in depth-first order, siblings by index. */
  transcript(query: TreeGroup & Page): MessagePage;
  /** Returns the shape of a transcript tree. Its content is read by windows. */
  outline(group: TreeGroup): GroupOutline;
  /**
   * Returns the message of a transcript tree with the lowest decided credit. If none is decided, returns
   * the one that is farthest below 0 in relation to the width of its interval. Null if none was
   * measured.
   */
  costliestOf(group: TreeGroup): CreditedMessage | null;
  /** Returns the same for the path to a message and the messages that continue it in its round. */
  costliestThrough(message: number): CreditedMessage | null;
  /** Returns the values that messages of a transcript are filtered by, unordered. */
  facts(group: TreeGroup): MessageFacts[];
  /** Lists the run's own messages by clarity of their headline, without those that have no bounds. */
  clearestMessages(run: string, limit: number): MessageHeadline[];
  /** Lists the run's own messages with the lowest headlines: harmful ones, then undecided ones. */
  lowestMessages(run: string, limit: number): PooledHeadline[];
}

/** Full-text search in messages and questions. */
export interface SearchReader {
  /**
   * Finds messages that contain every word of the query, at least as a prefix, best match first. A query
   * without a letter or digit finds nothing.
   */
  searchMessages(query: SearchQuery): FoundMessages;
  /** Finds problems by question, as searchMessages finds messages, newest first, at most `limit`. */
  searchQuestions(query: QuestionQuery): FoundQuestion[];
  /** Returns true if searchQuestions would find the question of a problem (uidSha). */
  questionHas(problem: string, query: string): boolean;
  /** Finds the ids of up to `limit` messages of a run, replays included, as searchMessages does. */
  searchIds(run: string, query: string, limit: number): number[];
}

/** Buckets: contexts with their alternatives and credits. */
export interface BucketReader {
  /** Returns a bucket with its alternatives and their data. */
  bucketView(id: number): BucketView;
  /**
   * Returns the bucket that the message belongs to and the buckets of requests in the same context,
   * newest last.
   * @param most largest number of alternatives of each bucket: the first ones and the message itself;
   *   default all
   */
  bucketsFor(message: number, most?: number): BucketView[];
  /** Lists buckets of one context, oldest first. */
  bucketsOfContext(query: RoleContext & Page): Bucket[];
  /** Returns the continuation settings of a request if they differ from those of its message, else null. */
  continuationOf(bucket: number): OtherContinuation | null;
  /** Lists the buckets of a run's replay requests on one problem (a uidSha), oldest first. */
  requestsOf(run: string, problem: string): Bucket[];
  /** Lists buckets of a run in storage order. */
  bucketsOfRun(query: BucketQuery & Page): BucketView[];
  countBuckets(query: BucketQuery): number;
  /**
   * Lists buckets of a run by a ranking value, largest first, those without the value last. Of the
   * buckets that share a pool, and thereby a context and its credit, it lists the first that passes the
   * filter. Ranked by distance, it lists a row for each removed message.
   */
  rankedBuckets(query: RankingQuery): RankedBucket[];
  /** Counts the rows of rankedBuckets. */
  countRanked(run: string, order: BucketOrder, filter?: BucketFilter): number;
  /** Counts the buckets of each kind in a run, roles in alphabetical order. */
  bucketKinds(run: string): BucketKind[];
  bucket(id: number): Bucket;
  /** Lists every credit in a bucket, by any estimator, oldest first. */
  credits(bucket: number): StoredCredit[];
  /**
   * Lists the shown credit of each message of a run in each of its buckets, newest buckets first,
   * without buckets of another continuation distribution.
   */
  creditsOfRun(run: string, offset: number, limit: number): RunCredit[];
}

export interface ReplayReader {
  /** Lists replays of a bucket by alternative and m. */
  replaysOfBucket(bucket: number): Replay[];
  /** Lists replays of a run in storage order. */
  replaysOfRun(run: string, offset: number, limit: number): Replay[];
  /** @param origin of the buckets to count; default all */
  countReplays(run: string, origin?: BucketOrigin | null): number;
  /** Counts the replays of all buckets of a run by their newest verification. */
  verdictsOfRun(run: string): VerdictCounts;
  /** Lists verifications of a replay, oldest first. */
  verifications(replay: number): Verification[];
  /** Lists the replays of a bucket by alternative and m, each with its newest verification. */
  verdictsOfBucket(bucket: number): ReplayVerdict[];
  /** Returns the number of the newest verification in the store, or 0 if there is none. */
  newestVerification(): number;
}

export interface ProblemReader {
  /** Lists the ids of the problems of a run that pass a filter, sorted, those without a value last. */
  problemIds(query: ProblemQuery): number[];
  /** Returns problems in the order of the ids, without unknown ones. */
  problems(ids: readonly number[]): ProblemRow[];
  /** Returns the choices of the filters of a run's problems. */
  problemFacets(run: string): ProblemFacets;
  /**
   * Returns the place at which the transcript of a problem opens: the lost episode of the round, or the
   * clearest message if no round is given. Null if there is none.
   */
  problemOpening(
    problem: number,
    round: { readonly phase: 'train' | 'evaluate'; readonly iteration: number } | null,
  ): ProblemOpening | null;
}

export interface LabelReader {
  /** Lists the names of the labels on messages of a run, in alphabetical order. */
  labelNames(run: string): string[];
  /**
   * Lists the messages of a run with a label: the newest label on the message itself, or on the bucket
   * that it is an alternative of.
   */
  labelledMessages(run: string, name: string): number[];
  /** Lists the user's labels on a message, oldest first. */
  labelsOfMessage(message: number): Label[];
  /** Lists the user's labels on a bucket, oldest first. */
  labelsOfBucket(bucket: number): Label[];
  /** Lists the user's labels on all buckets of a run, oldest first. */
  labelsOfRun(run: string): Label[];
  /** Returns the user's note on the episode of a message. Null without a note or with more episodes. */
  episodeNote(message: number): StoredEpisodeNote | null;
}

/** Buckets that were sampled for measurements. */
export interface DiagnosticReader {
  /** Lists the samples of diagnostic buckets of a run, oldest first. */
  diagnosticSamples(run: string): DiagnosticSample[];
  /** Lists the complete buckets of a sample, oldest first. */
  diagnosticBuckets(sample: number, offset: number, limit: number): DiagnosticRow[];
  /** Returns the diagnostic data of a bucket, or null if it has none or is not complete. */
  diagnosticBucket(bucket: number): DiagnosticRow | null;
}
