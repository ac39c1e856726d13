/**
 * What can be read of a store, by what it is about. Every function throws C3Error('store') when the store cannot be
 * read, and C3Error('input') for an id or a page that cannot be. Lists of something that does not exist are empty.
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

/** Runs: what they are, their steps and weights. */
export interface RunReader {
  /** The run. @throws C3Error('input') when there is none of this id */
  run(id: string): RunRecord;
  /** The run's configuration, the JSON text given to insertRun. */
  runConfig(id: string): string;
  /** What the returns of a run mean; null where its evaluator is not known. */
  returnScale(run: string): ReturnScale | null;
  /** Runs, newest first. */
  runs(offset: number, limit: number): RunRecord[];
  countRuns(): number;
  /** Steps in the order of iterations; metrics are null for one that has not finished. */
  steps(run: string, offset: number, limit: number): Step[];
  countSteps(run: string): number;
  /** Every run's record of these weights (the same weights may come in several runs). */
  snapshots(id: string): Snapshot[];
  /**
   * The snapshots that the run had after its steps, in the order of iterations; weights between two updates and other
   * models that continued replays are none of them.
   */
  snapshotsOfRun(run: string): Snapshot[];
  environment(id: number): NumericEnvironment;
  /** The complete evaluations of a run, by step. */
  evaluations(run: string): StoredEvaluation[];
  /** The numbers of the evaluations that a run has episodes of, complete or not, ascending. */
  evaluationNumbers(run: string): number[];
}

/** What runs cost. */
export interface CostReader {
  /** What one round cost, summed over its messages and episodes; an episode counts every scored message on its path. */
  roundCost(round: Round): RoundCost;
  /** The cumulative cost of a run when its last finished step ended; null before the first. */
  latestLedger(run: string): Ledger | null;
  /** Requests to the server of a role that a run and its replays made, and the tokens that these cost. */
  spent(run: string, role: string): { readonly calls: number; readonly prompt: number; readonly completion: number };
  /** What a run's own messages cost (replay requests left out), positions in the order in which they first came. */
  costs(run: string): PositionCost[];
  /** What a run's replays cost beside its own messages, by origin and position. */
  replayCosts(run: string): ReplayCost[];
  /** Evaluator calls of a run's episodes: what its messages cost less than one call each was known from equal ones. */
  episodeCosts(run: string): EpisodeCost[];
  /** The run's account; null for one that has none yet. */
  account(run: string): RunAccount | null;
}

/** What training steps learned from, and what they carry on. */
export interface TrainingReader {
  /** What the messages of a training iteration were credited with when it learned from them. */
  stepCredits(run: string, iteration: number): StepCredits;
  /**
   * The returns of the episodes that a training iteration learns from, in the order in which they were stored; null for
   * a masked one.
   */
  learnedReturns(run: string, iteration: number): (number | null)[];
  /** The episodes that a training iteration learns from, as learnedReturns, with what was said of their score. */
  learnedRules(run: string, iteration: number): EpisodeRule[];
  /** The messages that a training iteration learns from, in the order in which they were stored. */
  learnedPlaces(run: string, iteration: number): MessagePlace[];
  /** The stages of a training step that are stored, in order; empty for a step that samples at its beginning only. */
  stages(run: string, iteration: number): Stage[];
  /** The first stage of a run that these weights sampled; null where none was. */
  stageOfSnapshot(run: string, snapshot: string): Stage | null;
  /**
   * What a run's method carried on after a step, or after one of its stages; null where it carries nothing, or the
   * messages are not stored.
   */
  methodState(run: string, iteration: number, stage?: number): StoredMethodState | null;
  /**
   * The messages of one stage of a training iteration, 0 unless given, in the order in which they were appended:
   * buckets, then alternatives.
   */
  trainingMessages(run: string, iteration: number, estimator: string, stage?: number): TrainingMessage[];
}

/** Problems, episodes and their messages. */
export interface EpisodeReader {
  /** The problem of a uidSha. */
  problem(uidSha: string): Problem;
  /** Episodes of a round. */
  episodes(query: EpisodeQuery): Episode[];
  countEpisodes(round: Round): number;
  /**
   * What environments said directly before a message, or after one that ends its episode, in order; empty where none
   * did.
   */
  environmentEvents(message: number, side: 'before' | 'after'): StoredEvent[];
  /** Episodes of a run's training and evaluations that the evaluator failed to score; they count nowhere else. */
  maskedEpisodes(run: string): number;
  /** The message with its tokens and its context. */
  fullMessage(id: number): FullMessage;
  message(id: number): Message;
  /** The run of a message. */
  messageRun(id: number): string;
  /** Many messages in the order of the ids as given; far quicker than one by one. */
  messages(ids: readonly number[]): Message[];
  /** Messages whose parent this is, of any phase, by phase and sibling index. */
  children(message: number): Message[];
  /** The path from the root of the episode to this message. */
  chain(leaf: number): Message[];
  /** The last messages of the episodes that go through a message in its own round, in the order of their tree. */
  lastMessages(message: number): number[];
  /**
   * What the alternatives of a message are continued with as recorded: its own weights and temperature; of one that was
   * picked greedily the run's temperature.
   */
  ownContinuation(message: number): OwnContinuation;
}

/** Transcripts as trees, and what is shown and filtered in them. */
export interface TranscriptReader {
  /** What was measured of a message; null for one that is not in the store. */
  measured(message: number): Measured | null;
  /** The same of the episodes of a problem in a round together. */
  episodesMeasured(group: TreeGroup): EpisodeMeasured;
  /** One window of a transcript tree in depth-first order, siblings by their index. */
  transcript(query: TreeGroup & Page): MessagePage;
  /** The shape of a transcript tree; what it shows is read by windows. */
  outline(group: TreeGroup): GroupOutline;
  /**
   * The lowest-credit message of a transcript tree whose credit is decided; else, of those that are not, the one that
   * lies the most below 0 for the width of its interval. Null where none was measured.
   */
  costliestOf(group: TreeGroup): CreditedMessage | null;
  /** The same among the messages on the way to a message, and those that continue it in its own round. */
  costliestThrough(message: number): CreditedMessage | null;
  /** What every message of a transcript is filtered by, in no order. */
  facts(group: TreeGroup): MessageFacts[];
  /**
   * The run's own messages by how clear their headline credit is, clearest first; those without bounds are left out.
   */
  clearestMessages(run: string, limit: number): MessageHeadline[];
  /** The run's own messages of the lowest headline credits: those that hurt, then those that are undecided. */
  lowestMessages(run: string, limit: number): PooledHeadline[];
}

/** Messages and questions by their words. */
export interface SearchReader {
  /**
   * Messages that contain every word of the query, at least as a beginning; best match first. A query without a letter
   * or digit finds nothing.
   */
  searchMessages(query: SearchQuery): FoundMessages;
  /**
   * Problems, newest first and at most `limit`, whose questions contain every word of the query, at least as a
   * beginning.
   */
  searchQuestions(query: QuestionQuery): FoundQuestion[];
  /** Whether the question of a problem (uidSha) contains every word of a query, as searchQuestions finds them. */
  questionHas(problem: string, query: string): boolean;
  /** Ids of up to `limit` messages of a run, replays among them, that contain every word of the query; in no order. */
  searchIds(run: string, query: string, limit: number): number[];
}

/** Buckets: contexts with their alternatives and credits. */
export interface BucketReader {
  /** A bucket with its alternatives and what is known of them. */
  bucketView(id: number): BucketView;
  /**
   * The bucket that the message belongs to and every request's bucket of the same context, newest last.
   * @param most alternatives read of each, the first ones with the message itself; all where it is left out
   */
  bucketsFor(message: number, most?: number): BucketView[];
  /** Buckets of one context, oldest first. */
  bucketsOfContext(query: RoleContext & Page): Bucket[];
  /** How a request was continued where that is not how its message was made; null elsewhere. */
  continuationOf(bucket: number): OtherContinuation | null;
  /** The buckets of a run's replay requests on one problem (a uidSha), oldest first. */
  requestsOf(run: string, problem: string): Bucket[];
  /** Buckets of a run in the order in which they were appended. */
  bucketsOfRun(query: BucketQuery & Page): BucketView[];
  countBuckets(query: BucketQuery): number;
  /**
   * Buckets of a run by what they are ranked by, largest first; those where it was not measured are last. Of those that
   * share a pool, and so a context and its credit, the first that passes; by distance, a row for each removed message.
   */
  rankedBuckets(query: RankingQuery): RankedBucket[];
  /** How many of these there are. */
  countRanked(run: string, order: BucketOrder, filter?: BucketFilter): number;
  /** How many buckets of each kind a run has, roles in alphabetical order. */
  bucketKinds(run: string): BucketKind[];
  bucket(id: number): Bucket;
  /** Every credit given in a bucket, by any estimator, oldest first. */
  credits(bucket: number): StoredCredit[];
  /**
   * The credit that each message of a run shows, in each of its buckets, newest buckets first; those of another
   * continuation distribution are left out.
   */
  creditsOfRun(run: string, offset: number, limit: number): RunCredit[];
}

/** Replays and their verifications. */
export interface ReplayReader {
  /** Replays of a bucket by alternative and m. */
  replaysOfBucket(bucket: number): Replay[];
  /** Replays of a run in the order in which they were appended. */
  replaysOfRun(run: string, offset: number, limit: number): Replay[];
  /** @param origin of which buckets; of all unless given */
  countReplays(run: string, origin?: BucketOrigin | null): number;
  /** The replays of all buckets of a run by their newest verification. */
  verdictsOfRun(run: string): VerdictCounts;
  /** Verifications of a replay, oldest first. */
  verifications(replay: number): Verification[];
  /** The replays of a bucket by alternative and m, each with its newest verification. */
  verdictsOfBucket(bucket: number): ReplayVerdict[];
  /** The number of the newest verification in the store; 0 while there is none. */
  newestVerification(): number;
}

/** The table of problems of a run. */
export interface ProblemReader {
  /** Ids of the problems of a run that pass a filter, sorted; those without a value are last. */
  problemIds(query: ProblemQuery): number[];
  /** Problems in the order of the ids as given; unknown ids are left out. */
  problems(ids: readonly number[]): ProblemRow[];
  /** What the filters of a run's problems offer. */
  problemFacets(run: string): ProblemFacets;
  /**
   * Where the transcript of a problem opens: in a round at its lost episode, or, where none is named, at the clearest
   * message; null where there is nothing.
   */
  problemOpening(
    problem: number,
    round: { readonly phase: 'train' | 'evaluate'; readonly iteration: number } | null,
  ): ProblemOpening | null;
}

/** The user's labels and notes. */
export interface LabelReader {
  /** Names of the labels that messages of a run have, in alphabetical order. */
  labelNames(run: string): string[];
  /**
   * Messages of a run that have a label: the newest on the message itself, or on the bucket that it is an alternative
   * of.
   */
  labelledMessages(run: string, name: string): number[];
  /** The user's labels on a message, oldest first. */
  labelsOfMessage(message: number): Label[];
  /** The user's labels on a bucket, oldest first. */
  labelsOfBucket(bucket: number): Label[];
  /** The user's labels on all buckets of a run, oldest first. */
  labelsOfRun(run: string): Label[];
  /** What the user says of the one episode that a message is of; null where nothing was ever said, or of several. */
  episodeNote(message: number): StoredEpisodeNote | null;
}

/** Buckets that were sampled to be measured on. */
export interface DiagnosticReader {
  /** The samples of diagnostic buckets of a run, oldest first. */
  diagnosticSamples(run: string): DiagnosticSample[];
  /** The complete buckets of a sample, oldest first. */
  diagnosticBuckets(sample: number, offset: number, limit: number): DiagnosticRow[];
  /** What a bucket is to the diagnostics; null where it was not sampled for them or is not complete. */
  diagnosticBucket(bucket: number): DiagnosticRow | null;
}
