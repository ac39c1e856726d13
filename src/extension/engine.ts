/** The workspace's engine: one process, forked when first needed, and its progress as events. */
import { EventEmitter, workspace } from 'vscode';
import type { ReplayProgress, RunProgress, TestModelProgress, VerifyProgress } from '../shared/engineProtocol.ts';
import { C3Error } from '../shared/errors.ts';
import { EngineClient } from './engineClient.ts';
import type { Log } from './log.ts';
import { storePath } from './settings.ts';
import type { StoreAccess } from './storeAccess.ts';

export class Engine {
  private readonly script: string;
  private readonly log: Log;
  private readonly store: StoreAccess;
  private readonly runs = new EventEmitter<RunProgress>();
  private readonly replays = new EventEmitter<ReplayProgress>();
  private readonly verifications = new EventEmitter<VerifyProgress>();
  private readonly modelTests = new EventEmitter<TestModelProgress>();
  private current: { readonly path: string; readonly client: EngineClient } | null = null;
  readonly onRunProgress = this.runs.event;
  readonly onReplayProgress = this.replays.event;
  readonly onVerifyProgress = this.verifications.event;
  readonly onTestModelProgress = this.modelTests.event;

  /** @param script absolute path of the engine's entry */
  constructor(script: string, store: StoreAccess, log: Log) {
    this.script = script;
    this.store = store;
    this.log = log;
  }

  /** Why the engine cannot be used here, in one sentence; null when it can. */
  unavailable(): string | null {
    if (storePath() === null) return 'Open a folder first: its runs are kept in the folder .c3 there.';
    if (!workspace.isTrusted) return 'Runs and replays need a trusted workspace, because a workspace can name models and configurations to load.';
    return null;
  }

  /** The client for the workspace's store. @throws C3Error('input') with the reason where there can be none */
  client(): EngineClient {
    const reason = this.unavailable();
    const path = storePath();
    if (reason !== null || path === null) throw new C3Error('input', reason ?? 'Open a folder first.');
    if (this.current?.path !== path) {
      void this.current?.client.dispose();
      this.current = { path, client: this.create(path) };
    }
    return this.current.client;
  }

  async dispose(): Promise<void> {
    this.runs.dispose();
    this.replays.dispose();
    this.verifications.dispose();
    this.modelTests.dispose();
    await this.current?.client.dispose();
  }

  private create(path: string): EngineClient {
    return new EngineClient(this.script, path, {
      log: (line) => { this.log.info(line); },
      runProgress: (progress) => { this.store.touch(); this.runs.fire(progress); },
      replayProgress: (progress) => { this.replays.fire(progress); },
      verifyProgress: (progress) => { this.verifications.fire(progress); },
      testModelProgress: (progress) => { this.modelTests.fire(progress); },
      ready: ({ version }) => { this.log.info(`engine ${version} ready, store ${path}`); },
      ended: () => { this.store.touch(); },
    });
  }
}
