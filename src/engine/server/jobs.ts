/** The queue of runs of a store's engine: one is in progress, the others wait, and clients see all. */

import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import type { RunSummary } from '../../domain/run.ts';
import { C3Error, CancelledError, toFailureData, toErrorMessage } from '../../shared/errors.ts';
import type { CancelResult, StartRunParams } from '../../shared/protocols/engineProtocol.ts';
import type { ClientKind, JobList, JobOutcome, RunJob, RunProgress } from '../../shared/protocols/jobs.ts';
import type { RunControl } from '../../training/runContext.ts';
import { parseRecipe, readRecipe, type Recipe } from '../recipe/recipe.ts';
import type { EngineService } from '../service.ts';
import { cancelElsewhere } from './elsewhere.ts';
import { QueueFile, toUnstartedJob, type QueueEntry } from './queueFile.ts';

/** Number of finished jobs that are remembered. */
const FINISHED_KEPT = 20;

export interface JobEvents {
  /** Called when the list has changed. */
  changed(list: JobList): void;
  progress(progress: RunProgress): void;
  log(line: string): void;
}

interface Work {
  job: RunJob;
  readonly entry: Omit<QueueEntry, 'begun'>;
  /** Null for a stored run that is resumed. */
  readonly recipe: Recipe | null;
  readonly controller: AbortController;
}

export class JobQueue {
  private readonly service: EngineService;
  private readonly events: JobEvents;
  private readonly file: QueueFile;
  /** Jobs of an engine that was killed. */
  private lost: readonly QueueEntry[];
  private works: Work[] = [];
  private working = false;

  constructor(service: EngineService, events: JobEvents) {
    this.service = service;
    this.events = events;
    this.file = new QueueFile(service.storePath);
    // If the run of a job is in the store, it shows there as interrupted.
    this.lost = this.file.read().filter(({ begun }) => !begun);
  }

  /** True if a run is in progress or waits for its turn. */
  get busy(): boolean {
    return this.works.some(({ job }) => job.state !== 'finished');
  }

  list(): JobList {
    return { jobs: this.works.map(({ job }) => job), unstarted: this.lost.map(toUnstartedJob) };
  }

  /** Adds a new run to the queue. @throws C3Error('input') for an invalid configuration */
  async start(
    { config, overrides, folder = dirname(dirname(this.service.storePath)) }: StartRunParams,
    askedBy: ClientKind,
  ): Promise<RunJob> {
    const recipe = await readRecipe(config, overrides, folder);
    const { title } = recipe.config;
    return this.add({ kind: 'start', title, run: null, config, overrides: [...overrides], folder }, recipe, askedBy);
  }

  /**
   * Adds a stored run to the queue. Returns the existing job if the run is already there.
   * @throws C3Error('input') for an unknown run
   */
  resume(run: string, askedBy: ClientKind): RunJob {
    const { title } = this.service.reading((store) => store.run(run));
    const known = this.works.find(({ job }) => job.run === run && job.state !== 'finished');
    if (known !== undefined) {
      return known.job;
    }
    parseRecipe(
      this.service.reading((store) => store.runConfig(run)),
      run,
    );
    return this.add({ kind: 'resume', title, run, config: null, overrides: [], folder: '' }, null, askedBy);
  }

  /**
   * Starts a job again that never began.
   * @throws C3Error('input') if there is no such job, or it cannot be run anymore
   */
  async restart(id: string, askedBy: ClientKind): Promise<RunJob> {
    const entry = this.lost.find((lost) => lost.id === id);
    if (entry === undefined) {
      throw new C3Error(
        'input',
        `There is no job ${JSON.stringify(id.slice(0, 40))} that was not started: see \`c3 status\`.`,
      );
    }
    const job = entry.run === null ? await this.start(entry, askedBy) : this.resume(entry.run, askedBy);
    this.forget(id);
    return job;
  }

  /** Cancels a run by the ID of its job or its own, in any process, or forgets a job that never began. */
  cancel(name: string): CancelResult {
    const work = this.works.find(({ job }) => job.state !== 'finished' && (job.id === name || job.run === name));
    if (work !== undefined) {
      work.controller.abort();
      if (work.job.state === 'running') {
        return { cancelled: 'running' };
      }
      this.finish(work, { kind: 'cancelled' });
      return { cancelled: 'queued' };
    }
    if (this.lost.some(({ id }) => id === name)) {
      this.forget(name);
      return { cancelled: 'unstarted' };
    }
    return { cancelled: cancelElsewhere(this.service.storePath, name) ? 'elsewhere' : null };
  }

  /** Sets the words for what the running job waits for, or null when it no longer waits. */
  waiting(words: string | null): void {
    const work = this.works.find(({ job }) => job.state === 'running');
    if (work !== undefined && (words === null || work.job.progress === null)) {
      this.change(work, { waitingFor: words });
    }
  }

  private forget(id: string): void {
    this.lost = this.lost.filter((lost) => lost.id !== id);
    this.publish();
  }

  private add(what: Omit<QueueEntry, 'id' | 'askedAt' | 'begun'>, recipe: Recipe | null, askedBy: ClientKind): RunJob {
    const entry = { ...what, id: this.freshId(), askedAt: new Date().toISOString() };
    const { id, kind, run, title, askedAt } = entry;
    const job: RunJob = {
      id,
      kind,
      state: 'queued',
      run,
      title,
      askedBy,
      askedAt,
      startedAt: null,
      finishedAt: null,
      waitingFor: null,
      progress: null,
      meanReturn: null,
      outcome: null,
    };
    const work: Work = { job, entry, recipe, controller: new AbortController() };
    this.works.push(work);
    this.publish();
    void this.workOn();
    return work.job;
  }

  private freshId(): string {
    for (;;) {
      const id = `job-${randomUUID().slice(0, 4)}`;
      if (![...this.works.map(({ job }) => job.id), ...this.lost.map((lost) => lost.id)].includes(id)) {
        return id;
      }
    }
  }

  /** Runs one job after the other until none waits. */
  private async workOn(): Promise<void> {
    if (this.working) {
      return;
    }
    this.working = true;
    try {
      for (let next = this.next(); next !== undefined; next = this.next()) {
        this.finish(next, await this.outcomeOf(next));
      }
    } finally {
      this.working = false;
    }
  }

  private next(): Work | undefined {
    return this.works.find(({ job }) => job.state === 'queued');
  }

  private async outcomeOf(work: Work): Promise<JobOutcome> {
    this.change(work, { state: 'running', startedAt: new Date().toISOString() });
    try {
      return { kind: 'done', summary: await this.run(work) };
    } catch (error) {
      if (error instanceof CancelledError) {
        return { kind: 'cancelled' };
      }
      this.events.log(
        error instanceof C3Error
          ? `${error.kind}: ${error.message}`
          : error instanceof Error
            ? (error.stack ?? error.message)
            : toErrorMessage(error),
      );
      return { kind: 'failed', failure: toFailureData(error), message: toErrorMessage(error) };
    }
  }

  private run(work: Work): Promise<RunSummary> {
    const control: RunControl = {
      signal: work.controller.signal,
      onProgress: (progress) => {
        const before = work.job.run;
        work.job = {
          ...work.job,
          progress,
          run: progress.run ?? before,
          meanReturn: progress.metrics?.meanReturn ?? work.job.meanReturn,
        };
        if (work.job.run !== before) {
          this.publish();
        }
        this.events.progress(progress);
      },
    };
    const remark = (line: string): void => this.events.log(line);
    return work.recipe === null
      ? this.service.resume(work.job.run ?? '', control, remark)
      : this.service.run(work.recipe, control, remark);
  }

  private finish(work: Work, outcome: JobOutcome): void {
    this.change(work, { state: 'finished', finishedAt: new Date().toISOString(), waitingFor: null, outcome });
  }

  private change(work: Work, now: Partial<RunJob>): void {
    work.job = { ...work.job, ...now };
    this.publish();
  }

  /** Writes the queue and notifies every client. */
  private publish(): void {
    const finished = this.works.filter(({ job }) => job.state === 'finished');
    const old = new Set(finished.slice(0, Math.max(0, finished.length - FINISHED_KEPT)));
    this.works = this.works.filter((work) => !old.has(work));
    const open = this.works
      .filter(({ job }) => job.state !== 'finished')
      .map(({ entry, job }) => ({ ...entry, begun: job.run !== null && job.state === 'running' }));
    try {
      this.file.write([...this.lost, ...open]);
    } catch (error) {
      // The run itself will report the same fault of the folder.
      this.events.log(`The queue could not be kept: ${toErrorMessage(error)}`);
    }
    this.events.changed(this.list());
  }
}
