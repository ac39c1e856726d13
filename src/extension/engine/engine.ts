/**
 * Connects to the engine of the workspace's store, or starts it when first needed. Its messages arrive
 * as events. The engine outlives the window.
 */

import { EventEmitter, workspace } from 'vscode';
import { createEngineClient, type EngineClient } from '../../client/engineClient.ts';
import { isAlive } from '../../files/processes.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import type { EditorModels } from '../../shared/protocols/editorProtocol.ts';
import type {
  BlameProgress,
  RecordProgress,
  ReplayProgress,
  TestModelProgress,
  TrialProgress,
  VerifyProgress,
} from '../../shared/protocols/engineProtocol.ts';
import type { JobList, RunProgress } from '../../shared/protocols/jobs.ts';
import { Disposables } from '../common/disposables.ts';
import type { Log } from '../common/log.ts';
import { findStorePath } from '../common/settings.ts';
import type { StoreAccess } from './storeAccess.ts';

/** Interval at which the end of an engine's process is checked. */
const GONE_MILLISECONDS = 100;

export const NO_JOBS: JobList = { jobs: [], unstarted: [] };

export interface EngineProgram {
  /** Absolute path of the engine's entry. */
  readonly script: string;
  /** The product's version. */
  readonly version: string;
  /** Returns the user's keys of servers. */
  readonly keys: () => Promise<Readonly<Record<string, string>>>;
  /** The chat models of VS Code. */
  readonly editor: EditorModels;
}

export class Engine {
  private readonly program: EngineProgram;
  private readonly log: Log;
  private readonly store: StoreAccess;
  private readonly disposables = new Disposables();
  private readonly runs = this.disposables.add(new EventEmitter<RunProgress>());
  private readonly jobs = this.disposables.add(new EventEmitter<JobList>());
  private readonly waits = this.disposables.add(new EventEmitter<string | null>());
  private readonly replays = this.disposables.add(new EventEmitter<ReplayProgress>());
  private readonly verifications = this.disposables.add(new EventEmitter<VerifyProgress>());
  private readonly modelTests = this.disposables.add(new EventEmitter<TestModelProgress>());
  private readonly blames = this.disposables.add(new EventEmitter<BlameProgress>());
  private readonly trials = this.disposables.add(new EventEmitter<TrialProgress>());
  private readonly recordings = this.disposables.add(new EventEmitter<RecordProgress>());
  private readonly pending = new Set<NodeJS.Timeout>();
  private current: { readonly path: string; readonly client: EngineClient } | null = null;
  readonly onRunProgress = this.runs.event;
  /** Fires with all jobs: queued, running, finished and never started; with none if the connection ends. */
  readonly onJobs = this.jobs.event;
  /** Fires with the process that keeps the engine from writing the store, or null when the wait ends. */
  readonly onWaiting = this.waits.event;
  readonly onReplayProgress = this.replays.event;
  readonly onVerifyProgress = this.verifications.event;
  readonly onRecordProgress = this.recordings.event;
  readonly onBlameProgress = this.blames.event;
  readonly onTrialProgress = this.trials.event;
  readonly onTestModelProgress = this.modelTests.event;

  constructor(program: EngineProgram, store: StoreAccess, log: Log) {
    this.program = program;
    this.store = store;
    this.log = log;
    // Another window or the command line may have started an engine, which then changes the store.
    this.disposables.add(store.onDidChange(() => this.attach()));
    this.disposables.add(workspace.onDidGrantWorkspaceTrust(() => this.attach()));
  }

  /** Returns the reason why the engine cannot be used here, as one sentence, or null if it can. */
  unavailable(): string | null {
    if (findStorePath() === null) {
      return 'Open a folder first: runs are stored in its .c3 folder.';
    }
    if (!workspace.isTrusted) {
      return 'Runs and replays require a trusted workspace, because a workspace can specify models and configurations to load.';
    }
    return null;
  }

  /**
   * Returns the client for the workspace's store.
   * @throws C3Error('input') if there can be none, with the reason
   */
  client(): EngineClient {
    const reason = this.unavailable();
    const path = findStorePath();
    if (reason !== null || path === null) {
      const action = path === null ? undefined : ({ kind: 'manageTrust' } as const);
      throw new C3Error('input', reason ?? 'Open a folder first.', { action });
    }
    if (this.current?.path !== path) {
      void this.current?.client.dispose();
      this.current = { path, client: this.create(path) };
    }
    return this.current.client;
  }

  /** Connects to a running engine of the store, if there is one and the workspace is trusted. */
  attach(): void {
    if (this.unavailable() !== null || this.current?.client.attached === true) {
      return;
    }
    this.client()
      .attach()
      .catch((error: unknown) => this.log.error(toErrorMessage(error)));
  }

  /** Sends the user's keys to the engine again, if one is connected. */
  offerKeys(): void {
    this.current?.client.offerKeys().catch((error: unknown) => this.log.error(toErrorMessage(error)));
  }

  /** Disconnects from the engine. It continues its runs and then ends itself. */
  async dispose(): Promise<void> {
    for (const timer of this.pending) {
      clearTimeout(timer);
    }
    this.disposables.dispose();
    await this.current?.client.dispose();
  }

  /**
   * Reads the store again once an engine's process has ended. Its connection ends a moment earlier,
   * while the lock file still names a living process.
   */
  private lookAgainAfter(pid: number): void {
    if (!isAlive({ pid, processStart: null })) {
      this.store.touch();
      return;
    }
    const timer = setTimeout(() => {
      this.pending.delete(timer);
      this.lookAgainAfter(pid);
    }, GONE_MILLISECONDS);
    this.pending.add(timer);
  }

  private create(path: string): EngineClient {
    let process: number | null = null;
    const client: EngineClient = createEngineClient(
      { ...this.program, store: path, kind: 'window' },
      {
        log: (line) => this.log.info(line),
        jobs: (list) => {
          this.store.touch();
          this.jobs.fire(list);
        },
        runProgress: (progress) => {
          this.store.touch();
          this.runs.fire(progress);
        },
        replayProgress: (progress) => this.replays.fire(progress),
        verifyProgress: (progress) => this.verifications.fire(progress),
        testModelProgress: (progress) => this.modelTests.fire(progress),
        blameProgress: (progress) => this.blames.fire(progress),
        trialProgress: (progress) => this.trials.fire(progress),
        recordProgress: (progress) => {
          this.store.touch();
          this.recordings.fire(progress);
        },
        waiting: (words) => this.waits.fire(words),
        ready: ({ version, pid }) => {
          process = pid;
          this.log.info(`engine ${version}, process ${pid}, store ${path}`);
        },
        ended: () => {
          if (this.current?.client !== client) {
            return;
          }
          this.jobs.fire(NO_JOBS);
          this.waits.fire(null);
          if (process !== null) {
            this.lookAgainAfter(process);
          }
        },
      },
    );
    return client;
  }
}
