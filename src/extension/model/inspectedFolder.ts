/** The state of one model folder: facts, plan and self-test, each requested from the engine. */

import { CancellationTokenSource, type CancellationToken } from 'vscode-jsonrpc/node';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import type { ModelFacts, RunPlan, SelfTestProgress, SelfTestStep } from '../../shared/models.ts';
import type { PlanParams, TestModelParams } from '../../shared/protocols/engineProtocol.ts';
import type { Asked, ModelSettings, ModelSnapshot, ModelTestState } from '../../shared/protocols/modelProtocol.ts';
import { toConfigurationOverrides } from './modelConfiguration.ts';

/** The part of the engine that is used here. */
export interface ModelEngine {
  inspectModel(params: { readonly folder: string }): Promise<ModelFacts>;
  plan(params: PlanParams): Promise<RunPlan>;
  testModel(params: TestModelParams, token: CancellationToken): Promise<readonly SelfTestStep[]>;
}

export interface FolderEvents {
  /** Called when the snapshot has changed. */
  changed(): void;
  /** Called when the folder holds a usable model. */
  found(folder: string): void;
  /** Called with an error that is also in the snapshot. */
  failed(message: string): void;
}

const NOTHING = { working: false, value: null, error: null } as const;
const WORKING = { working: true, value: null, error: null } as const;

export class InspectedFolder {
  private readonly engine: () => ModelEngine;
  private readonly events: FolderEvents;
  private readonly folder: string;
  private settings: ModelSettings;
  private facts: Asked<ModelFacts> = NOTHING;
  private plan: Asked<RunPlan> = NOTHING;
  private test: ModelTestState | null = null;
  private cancellation: CancellationTokenSource | null = null;
  /** Number of reads so far, which shows if an answer is outdated. `plans` counts the plans. */
  private reads = 0;
  private plans = 0;
  private disposed = false;

  /** @param engine called for each request; throws if there can be no engine, with the reason */
  constructor(folder: string, settings: ModelSettings, engine: () => ModelEngine, events: FolderEvents) {
    this.folder = folder;
    this.settings = settings;
    this.engine = engine;
    this.events = events;
  }

  get snapshot(): ModelSnapshot {
    const { folder, settings, facts, plan, test } = this;
    return { folder, settings, facts, plan, test };
  }

  /** Reads the folder (again) and plans a run with its model. Never rejects. */
  async read(): Promise<void> {
    const read = ++this.reads;
    this.plans++;
    this.set({ facts: WORKING, plan: NOTHING });
    try {
      const value = await this.engine().inspectModel({ folder: this.folder });
      if (read !== this.reads || this.disposed) {
        return;
      }
      this.set({ facts: { working: false, value, error: null } });
      this.events.found(this.folder);
      await this.makePlan();
    } catch (error) {
      if (read === this.reads) {
        this.set({ facts: { working: false, value: null, error: this.sentence(error) } });
      }
    }
  }

  /** Takes new settings and plans again. Never rejects. */
  async change(settings: ModelSettings): Promise<void> {
    this.set({ settings });
    if (this.facts.value !== null) {
      await this.makePlan();
    }
  }

  /** Runs the self-test to its end. A second call meanwhile does nothing. Never rejects. */
  async runTest(): Promise<void> {
    if (this.cancellation !== null || this.disposed) {
      return;
    }
    const cancellation = new CancellationTokenSource();
    this.cancellation = cancellation;
    this.set({ test: { status: 'running', steps: [], current: 'Reading the folder', share: null, error: null } });
    try {
      const steps = await this.engine().testModel(
        { folder: this.folder, provider: this.settings.device },
        cancellation.token,
      );
      this.endTest('done', steps, null);
    } catch (error) {
      const steps = this.test?.steps ?? [];
      if (error instanceof CancelledError) {
        this.endTest('cancelled', steps, null);
      } else {
        this.endTest('failed', steps, this.sentence(error));
      }
    } finally {
      this.cancellation = null;
      cancellation.dispose();
    }
  }

  /** Takes the progress of a self-test. Ignores other folders. */
  progress(folder: string, progress: SelfTestProgress): void {
    const { test } = this;
    if (folder !== this.folder || test?.status !== 'running') {
      return;
    }
    const stopping = this.cancellation?.token.isCancellationRequested === true;
    const next =
      progress.kind === 'load'
        ? {
            ...test,
            current: 'Loading the model',
            share: progress.total > 0 ? Math.min(1, progress.done / progress.total) : null,
          }
        : // The duration of the next step is unknown.
          { ...test, steps: [...test.steps, progress.step], current: 'Testing', share: null };
    this.set({ test: stopping ? { ...next, current: test.current } : next });
  }

  cancelTest(): void {
    if (this.test?.status !== 'running') {
      return;
    }
    this.set({ test: { ...this.test, current: 'Cancelling' } });
    this.cancellation?.cancel();
  }

  /** Cancels the self-test in progress and reports nothing more. */
  dispose(): void {
    this.disposed = true;
    this.cancellation?.cancel();
  }

  private async makePlan(): Promise<void> {
    const wanted = ++this.plans;
    this.set({ plan: { working: true, value: this.plan.value, error: null } });
    try {
      const value = await this.engine().plan({
        config: null,
        overrides: toConfigurationOverrides(this.folder, this.settings),
      });
      if (wanted === this.plans) {
        this.set({ plan: { working: false, value, error: null } });
      }
    } catch (error) {
      if (wanted === this.plans) {
        this.set({ plan: { working: false, value: null, error: this.sentence(error) } });
      }
    }
  }

  private endTest(status: ModelTestState['status'], steps: readonly SelfTestStep[], error: string | null): void {
    this.set({ test: { status, steps, current: null, share: null, error } });
  }

  private sentence(error: unknown): string {
    const message = toErrorMessage(error);
    if (!this.disposed) {
      this.events.failed(message);
    }
    return message;
  }

  private set(changes: {
    readonly settings?: ModelSettings;
    readonly facts?: Asked<ModelFacts>;
    readonly plan?: Asked<RunPlan>;
    readonly test?: ModelTestState;
  }): void {
    if (this.disposed) {
      return;
    }
    this.settings = changes.settings ?? this.settings;
    this.facts = changes.facts ?? this.facts;
    this.plan = changes.plan ?? this.plan;
    this.test = changes.test ?? this.test;
    this.events.changed();
  }
}
