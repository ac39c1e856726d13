/** Runs as jobs of a store's engine: asked for, waiting for their turn, going on, ended. */
import type { RunSummary } from '../../domain/run.ts';
import type { StepMetrics } from '../../domain/step.ts';
import type { FailureData } from '../errors.ts';

export type JobState = 'queued' | 'running' | 'finished';

/** Who asks the engine for something. */
export type ClientKind = 'window' | 'command';

export type RunStage = 'load' | 'evaluate-before' | 'train' | 'evaluate-after';

export interface RunProgress {
  /** Null while the model is being loaded: a run that cannot load its model is not stored. */
  readonly run: string | null;
  readonly stage: RunStage;
  /** Of the total: bytes of the model's files while it is being loaded, steps or episodes later. */
  readonly done: number;
  readonly total: number;
  /** Metrics of the step that just ended; null elsewhere. */
  readonly metrics: StepMetrics | null;
  /** Until the end of the run, never negative; null until it is known. */
  readonly remainingSeconds: number | null;
  readonly message: string;
}

export type JobOutcome =
  | { readonly kind: 'done'; readonly summary: RunSummary }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly failure: FailureData; readonly message: string };

export interface RunJob {
  readonly id: string;
  /** Whether a new run is begun, or one of the store taken to its end. */
  readonly kind: 'start' | 'resume';
  readonly state: JobState;
  /** The run's id; null until its model is loaded. */
  readonly run: string | null;
  readonly title: string;
  readonly askedBy: ClientKind;
  /** ISO 8601; null for what has not come yet. */
  readonly askedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** For whom a job whose turn it is waits, in words; null while it does not. */
  readonly waitingFor: string | null;
  /** The newest word on it; null before the first. */
  readonly progress: RunProgress | null;
  /** Mean return of its last finished step; null before the first. */
  readonly meanReturn: number | null;
  /** Null until it is finished. */
  readonly outcome: JobOutcome | null;
}

/** A job that never began, because the engine in which it waited ended; it can be asked for again. */
export interface UnstartedJob {
  readonly id: string;
  readonly kind: 'start' | 'resume';
  readonly title: string;
  /** The run to be resumed; null for a new one. */
  readonly run: string | null;
  /** The configuration of a new run; null for the bundled team's. */
  readonly config: string | null;
  readonly overrides: readonly string[];
  readonly askedAt: string;
}

export interface JobList {
  /** In the order in which they were asked for; of the finished ones the last few. */
  readonly jobs: readonly RunJob[];
  readonly unstarted: readonly UnstartedJob[];
}

/** The job whose turn it is. */
export function jobInProgress(jobs: readonly RunJob[]): RunJob | null {
  return jobs.find(({ state }) => state === 'running') ?? null;
}

/** The jobs that wait for their turn, in order. */
export function queuedJobs(jobs: readonly RunJob[]): readonly RunJob[] {
  return jobs.filter(({ state }) => state === 'queued');
}
