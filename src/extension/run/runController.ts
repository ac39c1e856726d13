/**
 * Shows the runs of the folder's engine in this window, including those that others started: progress
 * with a cancel button, and a notification at the end.
 */

import { commands, EventEmitter, ProgressLocation, window } from 'vscode';
import type { Interval } from '../../domain/credit.ts';
import type { RunSummary } from '../../domain/run.ts';
import { restoreError } from '../../shared/errors.ts';
import type { StartRunParams } from '../../shared/protocols/engineProtocol.ts';
import {
  findJobInProgress,
  listQueuedJobs,
  type JobList,
  type RunJob,
  type RunProgress,
} from '../../shared/protocols/jobs.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { Disposables } from '../common/disposables.ts';
import type { Log } from '../common/log.ts';
import { withoutLinks } from '../common/plainText.ts';
import { showError } from '../common/report.ts';
import { NO_JOBS, type Engine } from '../engine/engine.ts';
import type { StoreAccess } from '../engine/storeAccess.ts';
import { estimateOverallPercent, formatQueue } from './progressWords.ts';

/** Maximum length of a title within a sentence, in characters. */
const TITLE = 80;

export class RunController {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly engine: Engine;
  private readonly store: StoreAccess;
  private readonly log: Log;
  private list: JobList = NO_JOBS;
  /** Progress of the job in progress, newer than that in the list. */
  private latest: RunProgress | null = null;
  private meanReturn: number | null = null;
  /** Jobs whose end was reported, or that ended before this window saw the list. */
  private readonly reported = new Set<string>();
  private seen = false;
  /** Jobs that this window requested. The value is true once the list has contained the job. */
  private readonly followed = new Map<string, boolean>();
  private showing: Promise<void> | null = null;
  readonly onDidChange = this.changed.event;

  constructor(engine: Engine, store: StoreAccess, log: Log) {
    this.engine = engine;
    this.store = store;
    this.log = log;
    this.disposables.add(engine.onRunProgress((progress) => this.progress(progress)));
    this.disposables.add(engine.onJobs((list) => this.adopt(list)));
  }

  /** True if a run is in progress. */
  get running(): boolean {
    return this.job !== null;
  }

  /** The job in progress, or null. */
  get job(): RunJob | null {
    return findJobInProgress(this.list.jobs);
  }

  /** The queued jobs, in order. */
  get queued(): readonly RunJob[] {
    return listQueuedJobs(this.list.jobs);
  }

  /** Jobs that never started because their engine ended. */
  get unstarted(): JobList['unstarted'] {
    return this.list.unstarted;
  }

  /** The newest progress of the run in progress, or null if there is none. */
  get current(): RunProgress | null {
    return this.running ? this.latest : null;
  }

  /** The mean return of the last finished step of the run in progress, or null. */
  get currentReturn(): number | null {
    return this.running ? this.meanReturn : null;
  }

  /** Starts a run, or queues it behind another, and shows it to its end. */
  start(params: StartRunParams): Promise<void> {
    return this.follow(() => this.engine.client().startRun(params));
  }

  /** Resumes a run of the store, and shows it to its end. */
  resume(run: string): Promise<void> {
    return this.follow(() => this.engine.client().resumeRun({ run }));
  }

  /** Requests a run again that never started. */
  restart(job: string): Promise<void> {
    return this.follow(() => this.engine.client().restartJob({ job }));
  }

  /**
   * Cancels a run. Its stored data is kept.
   * @param name the id of the run or its job; by default that of the run in progress
   */
  async cancel(name: string | undefined = this.job?.id): Promise<void> {
    if (name === undefined) {
      return;
    }
    const { cancelled } = await this.engine.client().cancelRun({ job: name });
    if (cancelled === null) {
      void window.showInformationMessage('That run is no longer in progress.');
    }
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private async follow(ask: () => Promise<RunJob>): Promise<void> {
    try {
      const { id } = await ask();
      this.followed.set(id, false);
      await (this.showing ??= this.showAll());
    } catch (error) {
      await showError(error, this.log);
    }
  }

  /** Returns the unfinished jobs that this window requested, including those that the list lacks yet. */
  private openFollowed(): readonly string[] {
    for (const [id, met] of this.followed) {
      const job = this.list.jobs.find((one) => one.id === id);
      if (job === undefined ? met : job.state === 'finished') {
        this.followed.delete(id);
      } else {
        this.followed.set(id, met || job !== undefined);
      }
    }
    return [...this.followed.keys()];
  }

  /** Shows one notification for all jobs of this window. Canceling it cancels only one job. */
  private async showAll(): Promise<void> {
    while (this.openFollowed().length > 0) {
      await this.show();
    }
    this.showing = null;
  }

  /** Shows progress until all jobs of this window or their engine have ended, or one job is canceled. */
  private show(): Thenable<void> {
    const options = { location: ProgressLocation.Notification, title: 'C3 run', cancellable: true };
    return window.withProgress(options, async (progress, token) => {
      const listeners = new Disposables();
      const ended = Promise.withResolvers<undefined>();
      listeners.add(
        token.onCancellationRequested(() => {
          const open = this.openFollowed();
          const id = open.find((one) => one === this.job?.id) ?? open[0];
          // The job leaves the notification at once. The status bar shows it until it has stopped.
          if (id !== undefined) {
            this.followed.delete(id);
            this.cancel(id).catch((error: unknown) => showError(error, this.log));
          }
          ended.resolve(undefined);
        }),
      );
      let shown = 0;
      const draw = (): void => {
        const open = this.openFollowed();
        if (open.length === 0) {
          ended.resolve(undefined);
          return;
        }
        const { job, latest } = this;
        const words = formatQueue(job, latest, this.queued);
        // The editor accepts only increments, and a stage may restart its count (greedy, then sampled).
        const alone = open.length === 1 && open[0] === job?.id && latest !== null;
        const percent = alone ? Math.max(shown, estimateOverallPercent(latest)) : shown;
        progress.report({ message: words, increment: percent - shown });
        shown = percent;
      };
      listeners.add(this.onDidChange(draw));
      draw();
      try {
        await ended.promise;
      } finally {
        listeners.dispose();
      }
    });
  }

  private adopt(list: JobList): void {
    const before = this.job;
    this.list = list;
    const { job } = this;
    if (job === null || job.id !== before?.id) {
      this.latest = job?.progress ?? null;
      this.meanReturn = job?.meanReturn ?? null;
    }
    const ended = list.jobs.filter(({ id, state }) => state === 'finished' && !this.reported.has(id));
    for (const one of ended) {
      this.reported.add(one.id);
      // No notification for a job that ended before this window first saw the list.
      if (this.seen) {
        void this.announce(one);
      }
    }
    // After the end of a connection, the state of the engine's jobs is unknown.
    this.seen = list !== NO_JOBS;
    if (job === null) {
      this.store.touch();
    }
    this.notify();
  }

  private progress(progress: RunProgress): void {
    if (!this.running) {
      return;
    }
    this.latest = progress;
    this.meanReturn = progress.metrics?.meanReturn ?? this.meanReturn;
    this.changed.fire();
  }

  private notify(): void {
    void commands.executeCommand('setContext', 'c3.running', this.running);
    void commands.executeCommand('setContext', 'c3.queued', this.queued.length > 0);
    this.changed.fire();
  }

  private async announce({ title, outcome }: RunJob): Promise<void> {
    if (outcome?.kind === 'done') {
      await this.announceEnd(title, outcome.summary);
    } else if (outcome?.kind === 'failed') {
      await showError(restoreError(outcome.message, outcome.failure), this.log);
    }
  }

  private async announceEnd(title: string, summary: RunSummary): Promise<void> {
    const open = 'Open run dashboard';
    const { before, after } = summary.accuracy;
    const change =
      before === null || after === null
        ? ''
        : `, accuracy ${formatIntervalPercent(before)} before, ${formatIntervalPercent(after)} after`;
    const words = withoutLinks(`The run ended: "${toOneLine(title, TITLE)}"${change}.`);
    if ((await window.showInformationMessage(words, open)) === open) {
      await commands.executeCommand('c3.openDashboard', summary.run);
    }
  }
}

function formatIntervalPercent(interval: Interval): string {
  return `${(100 * interval.value).toFixed(1)} %`;
}
