/** Notifies once in a session about a run that was interrupted or never started. */

import { env, window, type Memento } from 'vscode';
import { shownStatus, type RunRecord } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import type { UnstartedJob } from '../../shared/protocols/jobs.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { Disposables } from '../common/disposables.ts';
import { withoutLinks } from '../common/plainText.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import type { Services } from '../services.ts';

/** The workspace state's key for the notifications of this session, which survives a reload. */
const SAID_KEY = 'c3.interruptionsSaid';
/** Number of newest runs that are checked. Older interruptions show only in the Runs view. */
const RUNS_LOOKED_AT = 20;

export class InterruptedRuns {
  private readonly disposables = new Disposables();
  private readonly services: Services;
  private readonly memory: Memento;

  constructor(services: Services, memory: Memento) {
    this.services = services;
    this.memory = memory;
    this.disposables.add(services.store.onDidChange(() => this.look()));
    this.disposables.add(services.runs.onDidChange(() => this.look()));
    // Later, since the editor has more urgent work while it starts.
    const later = setTimeout(() => void this.lookFirst(), 0);
    this.disposables.add({ dispose: () => clearTimeout(later) });
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private async lookFirst(): Promise<void> {
    await this.services.store.pending();
    this.look();
  }

  private look(): void {
    const { engine, runs } = this.services;
    if (engine.unavailable() !== null) {
      return;
    }
    for (const job of runs.unstarted) {
      if (this.isNew(job.id)) {
        void this.offerAgain(job);
      }
    }
    // The run in progress may be the one that was interrupted.
    if (runs.running) {
      return;
    }
    const run = this.interrupted();
    if (run !== undefined && this.isNew(`${run.id} ${run.steps}`)) {
      void this.offerResume(run);
    }
  }

  /** Returns the newest interrupted run. */
  private interrupted(): RunRecord | undefined {
    let reader: StoreReader | null;
    try {
      reader = this.services.store.reader();
      if (reader === null) {
        return undefined;
      }
      const beingWritten = isBeingWritten(reader.path);
      return reader.runs(0, RUNS_LOOKED_AT).find((run) => shownStatus(run, beingWritten) === 'interrupted');
    } catch (error) {
      // The Runs view shows the fault of the store.
      if (error instanceof C3Error) {
        return undefined;
      }
      throw error;
    }
  }

  /** Returns true if a notification is new in this session, and marks it as shown. */
  private isNew(what: string): boolean {
    const kept = this.memory.get<unknown>(SAID_KEY);
    const said =
      isRecord(kept) && kept['session'] === env.sessionId && Array.isArray(kept['said'])
        ? kept['said'].filter((one) => typeof one === 'string')
        : [];
    if (said.includes(what)) {
      return false;
    }
    void this.memory.update(SAID_KEY, { session: env.sessionId, said: [...said, what] });
    return true;
  }

  private async offerResume(run: RunRecord): Promise<void> {
    const resume = 'Resume';
    const words = `Run "${run.title}" was interrupted at step ${run.steps} of ${run.plannedSteps}.`;
    if ((await window.showWarningMessage(withoutLinks(words), resume)) === resume) {
      await this.services.runs.resume(run.id);
    }
  }

  private async offerAgain(job: UnstartedJob): Promise<void> {
    const [again, forget] = ['Start again', 'Forget'];
    const words = `"${job.title}" was queued and never started, because the engine ended before its turn.`;
    const answer = await window.showWarningMessage(withoutLinks(words), again, forget);
    if (answer === again) {
      await this.services.runs.restart(job.id);
    } else if (answer === forget) {
      await this.services.runs.cancel(job.id);
    }
  }
}
