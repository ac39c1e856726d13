/** The run that this window started or resumed: one at a time, with progress, cancel and a word at its end. */
import { CancellationTokenSource, commands, EventEmitter, ProgressLocation, window, type CancellationToken } from 'vscode';
import type { RunProgress, StartRunParams } from '../shared/engineProtocol.ts';
import { CancelledError } from '../shared/errors.ts';
import type { Interval, RunSummary } from '../shared/records.ts';
import { Disposables } from './disposables.ts';
import type { Engine } from './engine.ts';
import type { EngineClient } from './engineClient.ts';
import type { Log } from './log.ts';
import { report } from './report.ts';
import { overallPercent, progressWords } from './runWords.ts';
import type { StoreAccess } from './storeAccess.ts';

/** What the engine is asked for; it answers at the end of the run. */
type Request = (client: EngineClient, token: CancellationToken) => Promise<RunSummary>;

export class RunController {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly engine: Engine;
  private readonly store: StoreAccess;
  private readonly log: Log;
  private cancellation: CancellationTokenSource | null = null;
  private latest: RunProgress | null = null;
  private meanReturn: number | null = null;
  readonly onDidChange = this.changed.event;

  constructor(engine: Engine, store: StoreAccess, log: Log) {
    this.engine = engine;
    this.store = store;
    this.log = log;
    this.disposables.add(engine.onRunProgress((progress) => { this.progress(progress); }));
  }

  /** Whether a run goes on. */
  get running(): boolean {
    return this.cancellation !== null;
  }

  /** The newest word on the run that goes on; null before the first and when there is none. */
  get current(): RunProgress | null {
    return this.latest;
  }

  /** Mean return of the last finished step of the run that goes on. */
  get currentReturn(): number | null {
    return this.meanReturn;
  }

  /** Begins a run and takes it to its end; a second one is refused while the first goes on. */
  start(params: StartRunParams): Promise<void> {
    return this.toTheEnd((client, token) => client.startRun(params, token));
  }

  /** Takes a run of the store to its end, as `start` does with a new one. */
  resume(run: string): Promise<void> {
    return this.toTheEnd((client, token) => client.resumeRun({ run }, token));
  }

  cancel(): void {
    this.cancellation?.cancel();
  }

  dispose(): void {
    this.cancel();
    this.disposables.dispose();
  }

  private async toTheEnd(request: Request): Promise<void> {
    if (this.running) {
      void window.showInformationMessage('A run goes on: cancel it first, or wait for its end.');
      return;
    }
    const cancellation = new CancellationTokenSource();
    this.cancellation = cancellation;
    this.notify();
    try {
      const summary = await this.withProgress(request, cancellation);
      this.finish();
      await this.announce(summary);
    } catch (error) {
      this.finish();
      if (!(error instanceof CancelledError)) await report(error, this.log);
    } finally {
      cancellation.dispose();
    }
  }

  private withProgress(request: Request, cancellation: CancellationTokenSource): Thenable<RunSummary> {
    const options = { location: ProgressLocation.Notification, title: 'C3 run', cancellable: true };
    return window.withProgress(options, async (progress, token) => {
      const listeners = new Disposables();
      listeners.add(token.onCancellationRequested(() => { cancellation.cancel(); }));
      listeners.add(cancellation.token.onCancellationRequested(() => { progress.report({ message: 'cancelling' }); }));
      let shown = 0;
      listeners.add(this.onDidChange(() => {
        if (this.latest === null || cancellation.token.isCancellationRequested) return;
        // The editor only adds to the bar, and a stage may count anew (greedy, then sampled).
        const percent = Math.max(shown, overallPercent(this.latest));
        progress.report({ message: progressWords(this.latest), increment: percent - shown });
        shown = percent;
      }));
      try {
        return await request(this.engine.client(), cancellation.token);
      } finally {
        listeners.dispose();
      }
    });
  }

  private progress(progress: RunProgress): void {
    if (!this.running) return;
    this.latest = progress;
    this.meanReturn = progress.metrics?.meanReturn ?? this.meanReturn;
    this.changed.fire();
  }

  private finish(): void {
    this.cancellation = null;
    this.latest = null;
    this.meanReturn = null;
    this.notify();
    this.store.touch();
  }

  private notify(): void {
    void commands.executeCommand('setContext', 'c3.running', this.running);
    this.changed.fire();
  }

  private async announce(summary: RunSummary): Promise<void> {
    const open = 'Open run dashboard';
    const { before, after } = summary.accuracy;
    const change = before === null || after === null ? '' : `: accuracy ${percent(before)} before, ${percent(after)} after`;
    if ((await window.showInformationMessage(`The run ended${change}.`, open)) === open) await commands.executeCommand('c3.openDashboard', summary.run);
  }
}

function percent(interval: Interval): string {
  return `${(100 * interval.value).toFixed(1)} %`;
}
