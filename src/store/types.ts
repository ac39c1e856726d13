/** The doors of the store: what can be asked of it, and what can be appended to it. */
import type { NewEpisode } from '../domain/episode.ts';
import type { StoredEvaluation } from '../domain/evaluation.ts';
import type { NewMessage } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { NewBucket, NewReplay } from '../domain/replay.ts';
import type { Ledger, RunStatus, RunSummary } from '../domain/run.ts';
import type { NumericEnvironment, Snapshot } from '../domain/snapshot.ts';
import type { StepMetrics, StoredMethodState } from '../domain/step.ts';
import type { Credit } from '../shared/credit/credit.ts';
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

/** All that can be read of a store. */
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
  /** Whether the file was opened as one that nobody changes; where somebody did, it is to be opened anew. */
  readonly fixed: boolean;
  counts(): StoreCounts;
  /** Another text whenever anything in the store may have changed; costs next to nothing. */
  version(): string;
  close(): void;
}

/**
 * Writing. Appends are immediate unless they are in a `transaction`; one that fails leaves nothing behind.
 * Every function throws C3Error('store') when the row cannot be stored.
 */
export interface StoreWriter extends StoreReader {
  /**
   * Everything that `work` appends is stored together, or nothing of it when it throws. `work` is synchronous;
   * transactions may nest.
   */
  transaction<Result>(work: () => Result): Result;

  /**
   * A transaction that appends very many messages with their problems, episodes and events: what follows from them,
   * such as the words that are searched, is added at its end. `work` reads nothing that follows from what it appends.
   */
  bulk<Result>(work: () => Result): Result;

  /** Appends a run with status 'running'. */
  insertRun(run: NewRun): void;
  /** Gives a run that is being recorded the configuration that it has with what came to it. */
  updateRunConfig(id: string, config: string): void;
  updateRunStatus(id: string, status: RunStatus, finishedAt: string | null, summary: RunSummary | null): void;
  /**
   * Marks every run that still says 'running' as failed at an unknown time: only for who has just taken the writer
   * lock, without which none continues.
   */
  markInterrupted(): void;
  /** Records weights of a run; again with a file, it adds the file to the record. */
  insertSnapshot(snapshot: Snapshot): void;
  /** Stores problems not yet stored. @throws C3Error('store') when a stored problem has another answer */
  insertProblems(problems: readonly Problem[]): void;
  /** The number of an environment, stored on first sight. */
  environmentId(environment: NumericEnvironment): number;
  insertBucket(bucket: NewBucket): number;
  /**
   * Appends a message; its texts are stored once. With a bucket it is an alternative of it (no insertAlternative
   * needed).
   * @throws C3Error('store') naming both hashes when its context key already represents another context
   */
  insertMessage(message: NewMessage): number;
  /**
   * Makes a message that is already stored an alternative of a bucket: the clicked one (`original`), or one shared by
   * two buckets.
   */
  insertAlternative(bucket: number, message: number, index: number, original: boolean): void;
  insertEpisode(episode: NewEpisode): number;
  /**
   * Appends a replay. Headlines follow at the end of its transaction; of one that is in none, with
   * refreshHeadlines.
   */
  insertReplay(replay: NewReplay): number;
  /** Brings the headline credits up to date with the replays that are stored. */
  refreshHeadlines(): void;
  insertCredit(bucket: number, message: number, credit: Credit): number;
  /** Begins a step; one that a crash left unfinished may be begun again. */
  insertStep(step: NewStep): void;
  /** Begins a stage of a step, in the transaction that appends its messages, before them. */
  insertStage(run: string, stage: Stage): void;
  /** Adds a begun step's metrics and its cumulative cost. */
  finishStep(run: string, iteration: number, metrics: StepMetrics, ledger: Ledger): void;
  /** Stores what an evaluation measured, once all of its episodes are stored. */
  insertEvaluation(run: string, evaluation: StoredEvaluation): void;
  /**
   * Stores what a run's method carries on from a step, or a stage of it, in the transaction of its messages.
   * @throws C3Error('store') for a number that is not finite
   */
  insertMethodState(run: string, iteration: number, state: StoredMethodState, stage?: number): void;
  /** Appends what an environment said. */
  insertEnvironmentEvent(event: NewEvent): number;
  /** Says which event is the last directly before a message, or after one that ends its episode. */
  linkEnvironmentEvent(message: number, side: 'before' | 'after', event: number): void;
  /** Rewrites a run's account. */
  writeAccount(run: string, account: RunAccount): void;
  insertVerification(verification: NewVerification): number;
  /** Appends what one request to a server of a role cost. */
  insertSpending(run: string, role: string, tokens: { readonly prompt: number; readonly completion: number }): void;
  insertLabel(label: NewLabel): number;
  /** Appends what the user calls a run and says of it, in the place of what was there. */
  insertRunNote(note: NewRunNote): void;
  /** Appends what the user says of an episode, in the place of what was there. */
  insertEpisodeNote(note: NewEpisodeNote): void;
  /**
   * Takes a run out of the store with all that belongs to it and makes the file smaller; not within a transaction. What
   * other runs refer to stays.
   * @throws C3Error('store') where something that stays needs a row of it; nothing is changed then
   */
  deleteRun(run: string): DeletedRun;
  insertDiagnosticSample(run: string, settings: string): number;
  /** Marks a diagnostic bucket that is complete. */
  insertDiagnosticBucket(row: DiagnosticRow): void;
  /** The number of the run's next replay request: its request and diagnostic buckets + 1. */
  nextRequestNumber(run: string): number;

  /** Says in the lock file what this writer does now. */
  describeHolder(purpose: HolderPurpose): void;
  /** Closes the store, seals it, and gives the writer lock back. */
  close(): void;
  /**
   * Closes without the seal, which takes a look at the whole file: for a process that may write again soon, and seals
   * the store after that (sealStore).
   */
  closeUnsealed(): void;
}
