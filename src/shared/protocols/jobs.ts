/** Runs as jobs of a store's engine: queued, running or finished. */

import type { RunSummary } from '../../domain/run.ts';
import type { StepMetrics } from '../../domain/step.ts';
import type { FailureData } from '../errors.ts';

export type JobState = 'queued' | 'running' | 'finished';

/** The kind of a client of the engine. */
export type ClientKind = 'window' | 'command';

export type RunStage = 'load' | 'evaluate-before' | 'train' | 'evaluate-after';

export interface RunProgress {
  /** Null while the model is loading: a run that cannot load its model is not stored. */
  readonly run: string | null;
  readonly stage: RunStage;
  /** Progress toward `total`: bytes of the model's files while it is loading, later steps or episodes. */
  readonly done: number;
  readonly total: number;
  /** Metrics of the step that just ended; otherwise null. */
  readonly metrics: StepMetrics | null;
  /** Seconds until the end of the run, never negative; null until it is known. */
  readonly remainingSeconds: number | null;
  readonly message: string;
}

export type JobOutcome =
  | { readonly kind: 'done'; readonly summary: RunSummary }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly failure: FailureData; readonly message: string };

export interface RunJob {
  readonly id: string;
  /** start: a new run. resume: a run of the store that continues to its end. */
  readonly kind: 'start' | 'resume';
  readonly state: JobState;
  /** The run's id; null until its model is loaded. */
  readonly run: string | null;
  readonly title: string;
  readonly askedBy: ClientKind;
  /** ISO 8601; null for events in the future. */
  readonly askedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** The process that a job in turn waits for, in words; null while it does not wait. */
  readonly waitingFor: string | null;
  /** The newest progress, or null before the first. */
  readonly progress: RunProgress | null;
  /** Mean return of its last finished step, or null before the first. */
  readonly meanReturn: number | null;
  /** Null until it is finished. */
  readonly outcome: JobOutcome | null;
}

/** A queued job that never began because its engine ended; it can be queued again. */
export interface UnstartedJob {
  readonly id: string;
  readonly kind: 'start' | 'resume';
  readonly title: string;
  /** The run to resume, or null for a new one. */
  readonly run: string | null;
  /** The configuration of a new run; null for the bundled team's. */
  readonly config: string | null;
  readonly overrides: readonly string[];
  readonly askedAt: string;
}

export interface JobList {
  /** In the order in which they were queued; only the last few of the finished ones. */
  readonly jobs: readonly RunJob[];
  readonly unstarted: readonly UnstartedJob[];
}

/** Returns the job in progress. */
export function findJobInProgress(jobs: readonly RunJob[]): RunJob | null {
  return jobs.find(({ state }) => state === 'running') ?? null;
}

/** Returns the jobs that wait for their turn, in order. */
export function listQueuedJobs(jobs: readonly RunJob[]): readonly RunJob[] {
  return jobs.filter(({ state }) => state === 'queued');
}
