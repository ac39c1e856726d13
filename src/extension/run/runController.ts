/**
 * The runs of the folder's engine as this window shows them, whoever asked for them: progress, cancel and a word at
 * their end.
 */
import { commands, EventEmitter, ProgressLocation, window } from 'vscode';
import type { Interval } from '../../domain/credit.ts';
import type { RunSummary } from '../../domain/run.ts';
import { errorOfFailure } from '../../shared/errors.ts';
import type { StartRunParams } from '../../shared/protocols/engineProtocol.ts';
import { jobInProgress, queuedJobs, type JobList, type RunJob, type RunProgress } from '../../shared/protocols/jobs.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { Disposables } from '../common/disposables.ts';
import type { Log } from '../common/log.ts';
import { withoutLinks } from '../common/plainText.ts';
import { report } from '../common/report.ts';
import { NO_JOBS, type Engine } from '../engine/engine.ts';
import type { StoreAccess } from '../engine/storeAccess.ts';
import { overallPercent, queueWords } from './progressWords.ts';

/** Characters of a title within a sentence. */
const TITLE = 80;

export class RunController {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly engine: Engine;
  private readonly store: StoreAccess;
  private readonly log: Log;
  private list: JobList = NO_JOBS;
  /** Newer than the list's word on the job in progress. */
  private latest: RunProgress | null = null;
  private meanReturn: number | null = null;
  /** Jobs whose end was reported, or that had ended before this window looked. */
  private readonly reported = new Set<string>();
  private seen = false;
  /** Runs that this window asked for, and whether the list had them already. */
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

  /** Whether a run is in progress. */
  get running(): boolean {
    return this.job !== null;
  }

  /** The job whose turn it is. */
  get job(): RunJob | null {
    return jobInProgress(this.list.jobs);
  }

  /** Runs that wait for their turn, in order. */
  get queued(): readonly RunJob[] {
    return queuedJobs(this.list.jobs);
  }

  /** Runs that were asked for and never began, because their engine ended. */
  get unstarted(): JobList['unstarted'] {
    return this.list.unstarted;
  }

  /** The newest word on the run in progress; null before the first and when there is none. */
  get current(): RunProgress | null {
    return this.running ? this.latest : null;
  }

  /** Mean return of the last finished step of the run in progress. */
  get currentReturn(): number | null {
    return this.running ? this.meanReturn : null;
  }

  /** Asks for a run and shows it to its end; while another one is in progress it waits for its turn. */
  start(params: StartRunParams): Promise<void> {
    return this.follow(() => this.engine.client().startRun(params));
  }

  /** Takes a run of the store to its end, as `start` does with a new one. */
  resume(run: string): Promise<void> {
    return this.follow(() => this.engine.client().resumeRun({ run }));
  }

  /** Asks again for a run that never began. */
  restart(job: string): Promise<void> {
    return this.follow(() => this.engine.client().restartJob({ job }));
  }

  /**
   * Cancels a run: the one that is named by its own id or its job's, else the one in progress. What is stored stays.
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
      await report(error, this.log);
    }
  }

  /** Runs that this window asked for and that have not ended; one that the list does not have yet is among them. */
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

  /** One notification for all runs of this window: cancelling it cancels one, and the others go on. */
  private async showAll(): Promise<void> {
    while (this.openFollowed().length > 0) {
      await this.show();
    }
    this.showing = null;
  }

  /** Shows progress until all runs of this window, or their engine, have ended, or one is cancelled. */
  private show(): Thenable<void> {
    const options = { location: ProgressLocation.Notification, title: 'C3 run', cancellable: true };
    return window.withProgress(options, async (progress, token) => {
      const listeners = new Disposables();
      const ended = Promise.withResolvers<undefined>();
      listeners.add(
        token.onCancellationRequested(() => {
          const open = this.openFollowed();
          const id = open.find((one) => one === this.job?.id) ?? open[0];
          // It leaves the notification at once; the status bar shows it until it has stopped.
          if (id !== undefined) {
            this.followed.delete(id);
            this.cancel(id).catch((error: unknown) => report(error, this.log));
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
        const words = queueWords(job, latest, this.queued);
        // The editor only adds to the bar, and a stage may count anew (greedy, then sampled).
        const alone = open.length === 1 && open[0] === job?.id && latest !== null;
        const percent = alone ? Math.max(shown, overallPercent(latest)) : shown;
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
      // What ended before this window looked is no news.
      if (this.seen) {
        void this.announce(one);
      }
    }
    // A connection that ended says nothing of what its engine did.
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
      await report(errorOfFailure(outcome.message, outcome.failure), this.log);
    }
  }

  private async announceEnd(title: string, summary: RunSummary): Promise<void> {
    const open = 'Open run dashboard';
    const { before, after } = summary.accuracy;
    const change =
      before === null || after === null ? '' : `, accuracy ${percent(before)} before, ${percent(after)} after`;
    const words = withoutLinks(`The run ended: "${oneLine(title, TITLE)}"${change}.`);
    if ((await window.showInformationMessage(words, open)) === open) {
      await commands.executeCommand('c3.openDashboard', summary.run);
    }
  }
}

function percent(interval: Interval): string {
  return `${(100 * interval.value).toFixed(1)} %`;
}
