/** The interfaces of the store for reading and appending. */

import type { NewEpisode } from '../domain/episode.ts';
import type { StoredEvaluation } from '../domain/evaluation.ts';
import type { NewMessage } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { NewBucket, NewReplay } from '../domain/replay.ts';
import type { Ledger, RunStatus, RunSummary } from '../domain/run.ts';
import type { NumericEnvironment, Snapshot } from '../domain/snapshot.ts';
import type { StepMetrics, StoredMethodState } from '../domain/step.ts';
import type { Credit } from '../shared/credit/credit.ts';
import type { ServerCost } from '../shared/endpointCost.ts';
import type { HolderPurpose } from '../shared/protocols/storeHolder.ts';
import type {
  RunReader,
  CostReader,
  TrainingReader,
  EpisodeReader,
  TranscriptReader,
  SearchReader,
  BucketReader,
  ReplayReader,
  ProblemReader,
  LabelReader,
  DiagnosticReader,
} from './readers.ts';
import type {
  NewRun,
  NewStep,
  Stage,
  RunAccount,
  NewVerification,
  NewEvent,
  NewLabel,
  NewEpisodeNote,
  NewRunNote,
  DeletedRun,
  DiagnosticRow,
  StoreCounts,
} from './rowTypes.ts';

export type * from './rowTypes.ts';
export { type StoredEvaluation } from '../domain/evaluation.ts';
export type * from './readers.ts';

export interface StoreReader
  extends
    RunReader,
    CostReader,
    TrainingReader,
    EpisodeReader,
    TranscriptReader,
    SearchReader,
    BucketReader,
    ReplayReader,
    ProblemReader,
    LabelReader,
    DiagnosticReader {
  readonly path: string;
  /** True if the file was opened as one that nobody changes. After a change, it must be opened again. */
  readonly fixed: boolean;
  counts(): StoreCounts;
  /** Returns a text that changes whenever anything in the store may have changed. It is cheap. */
  version(): string;
  close(): void;
}

/**
 * All write operations of a store. Appends are immediate unless they are in a `transaction`; a failed
 * transaction leaves nothing behind. Every function throws C3Error('store') if the row cannot be
 * stored.
 */
export interface StoreWriter extends StoreReader {
  /** Stores all that `work` appends, or nothing if it throws. `work` is synchronous and may nest. */
  transaction<Result>(work: () => Result): Result;

  /**
   * Runs a transaction that appends many messages with their problems, episodes and events. Derived
   * rows, such as the words of the search index, are added at its end, so `work` must not read them.
   */
  bulk<Result>(work: () => Result): Result;

  /** Appends a run with status 'running'. */
  insertRun(run: NewRun): void;
  /** Updates the configuration of a run that is being recorded. */
  updateRunConfig(id: string, config: string): void;
  updateRunStatus(id: string, status: RunStatus, finishedAt: string | null, summary: RunSummary | null): void;
  /**
   * Marks every run with status 'running' as failed at an unknown time. Only for a process that has just
   * taken the writer lock, because no such run continues without it.
   */
  markInterrupted(): void;
  /** Records weights of a run. A second call with a file adds the file to the record. */
  insertSnapshot(snapshot: Snapshot): void;
  /**
   * Stores problems that are not stored yet.
   * @throws C3Error('store') if a stored problem has another answer
   */
  insertProblems(problems: readonly Problem[]): void;
  /** Returns the number of an environment, which is stored on first use. */
  environmentId(environment: NumericEnvironment): number;
  insertBucket(bucket: NewBucket): number;
  /**
   * Appends a message; its texts are stored once. With a bucket it is an alternative of it (no
   * insertAlternative needed).
   * @throws C3Error('store') naming both hashes if its context key already represents another context
   */
  insertMessage(message: NewMessage): number;
  /**
   * Makes a stored message an alternative of a bucket: the message that the user selected (`original`),
   * or one that two buckets share.
   */
  insertAlternative(bucket: number, message: number, index: number, original: boolean): void;
  insertEpisode(episode: NewEpisode): number;
  /** Appends a replay. Its transaction updates headlines; without one, call refreshHeadlines. */
  insertReplay(replay: NewReplay): number;
  refreshHeadlines(): void;
  insertCredit(bucket: number, message: number, credit: Credit): number;
  /** Begins a step. A step that a crash left unfinished may be begun again. */
  insertStep(step: NewStep): void;
  /** Begins a stage of a step, in the transaction of its messages and before them. */
  insertStage(run: string, stage: Stage): void;
  /** Adds the metrics and the cumulative cost of a step. */
  finishStep(run: string, iteration: number, metrics: StepMetrics, ledger: Ledger): void;
  /** Stores the results of an evaluation after all of its episodes are stored. */
  insertEvaluation(run: string, evaluation: StoredEvaluation): void;
  /**
   * Stores the state that a run's method carries on from a step or a stage of it, in the
   * transaction of its messages.
   * @throws C3Error('store') for a number that is not finite
   */
  insertMethodState(run: string, iteration: number, state: StoredMethodState, stage?: number): void;
  insertEnvironmentEvent(event: NewEvent): number;
  /** Sets the last event directly before a message, or after a message that ends its episode. */
  linkEnvironmentEvent(message: number, side: 'before' | 'after', event: number): void;
  writeAccount(run: string, account: RunAccount): void;
  insertVerification(verification: NewVerification): number;
  /** Appends the cost of one request to the server of a role. */
  insertSpending(run: string, role: string, cost: ServerCost): void;
  insertLabel(label: NewLabel): number;
  /** Appends the user's note on a run, which replaces the previous one. */
  insertRunNote(note: NewRunNote): void;
  /** Appends the user's note on an episode, which replaces the previous one. */
  insertEpisodeNote(note: NewEpisodeNote): void;
  /**
   * Deletes a run with all rows that belong to it and shrinks the file; not within a transaction. Rows
   * that other runs refer to stay.
   * @throws C3Error('store') if a remaining row refers to a deleted one; then nothing changes
   */
  deleteRun(run: string): DeletedRun;
  insertDiagnosticSample(run: string, settings: string): number;
  insertDiagnosticBucket(row: DiagnosticRow): void;
  /** Returns the number of the next replay request: request and diagnostic buckets + 1. */
  nextRequestNumber(run: string): number;

  /** Writes the current purpose of this writer into the lock file. */
  describeHolder(purpose: HolderPurpose): void;
  /** Closes the store, seals it and releases the writer lock. */
  close(): void;
  /**
   * Closes the store without sealing it, because a seal reads the whole file. For a process that may
   * write again soon and calls sealStore later.
   */
  closeUnsealed(): void;
}
