/** The dependencies of a run, shared by its training and its evaluations. */

import type { Problem } from '../domain/problem.ts';
import type { StepMetrics } from '../domain/step.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { LocalPolicy, type Policy, type RolePolicy } from '../policy/policy.ts';
import { createTeamPolicy } from '../policy/teamPolicy.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import type { RoundRecord } from '../replay/recordTree.ts';
import type { Environments } from '../replay/unfold.ts';
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { RunProgress, RunStage } from '../shared/protocols/jobs.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import type { RunConfig } from './config/config.ts';
import { Remaining, countRunWork, type ExpectedPace } from './measure/remaining.ts';
import type { Method } from './methods/method.ts';
import { CostAccount } from './state/account.ts';

export interface RunDependencies {
  readonly store: StoreWriter;
  /** Holds only the run's model; the run begins and ends training on it. */
  readonly runtime: ModelRuntime;
  /** Snapshot of the loaded model, with which the run begins. */
  readonly base: string;
  readonly tokenizer: Tokenizer;
  readonly protocol: Protocol;
  /** Writes contexts in the form that the model reads. */
  readonly render: Renderer;
  /** Positions of the model: the largest total of a context and its answer, in tokens. */
  readonly maxPositions: number;
  /** The policies of roles with weights of their own. */
  readonly roles?: ReadonlyMap<string, RolePolicy>;
  readonly evaluator: Evaluator;
  /** By default the one that the configuration names. */
  readonly method?: Method;
  readonly train: readonly Problem[];
  readonly evaluation: readonly Problem[];
  /** The run's recipe in its stored form. */
  readonly recipe: string;
  readonly modelFolder: string;
  /** The folder for the weights of this run's snapshots and for its checkpoints. */
  readonly snapshotFolder: string;
  /** False makes every evaluator call, even with a determined result; for comparisons. */
  readonly reuse?: boolean;
  /** The source of environments; the bundled ones by default. */
  readonly environments?: Environments;
  /** Returns seconds, for the ledger and for estimates shown to the user. */
  readonly clock: () => number;
  /** The pace to assume, for estimates shown to the user, before the run has shown its own. */
  readonly expected: ExpectedPace;
  /** Returns the time of day in ISO 8601, used only in the run's row. */
  readonly now: () => string;
  /** Called when the row of a new run is stored. */
  readonly onStored?: (run: string) => void;
}

export interface RunControl {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RunProgress) => void;
}

/** One run in progress: its configuration, its dependencies, its account and its progress reports. */
export class RunContext {
  readonly id: string;
  readonly config: RunConfig;
  readonly dependencies: RunDependencies;
  readonly control: RunControl;
  readonly account: CostAccount;
  readonly remaining: Remaining;
  private readonly environment: number;

  constructor(id: string, config: RunConfig, dependencies: RunDependencies, control: RunControl) {
    const { store, runtime, protocol, clock } = dependencies;
    this.id = id;
    this.config = config;
    this.dependencies = dependencies;
    this.control = control;
    this.account = new CostAccount(store, id, protocol, clock);
    this.environment = store.environmentId(runtime.environment);
    this.remaining = new Remaining(
      countRunWork(config, dependencies.evaluation.length, store.run(id).steps),
      dependencies.expected,
      clock,
    );
  }

  /** Extra settings for growing trees. */
  get growth(): Pick<RunDependencies, 'reuse' | 'environments'> {
    const { reuse, environments } = this.dependencies;
    return { ...(reuse !== undefined && { reuse }), ...(environments !== undefined && { environments }) };
  }

  policy(snapshot: string): Policy {
    const { runtime, tokenizer, maxPositions, roles } = this.dependencies;
    const model = new LocalPolicy(runtime, tokenizer, snapshot, maxPositions);
    return createTeamPolicy(model, this.config.policies, tokenizer, roles);
  }

  round(phase: 'train' | 'evaluate', iteration: number, snapshot: string): RoundRecord {
    // An evaluation counts solved episodes; only credit is computed from clipped returns.
    const returnBound = phase === 'train' ? this.config.credit.return_clip : Infinity;
    return { run: this.id, phase, iteration, snapshot, environment: this.environment, returnBound };
  }

  progress(stage: RunStage, done: number, total: number, message: string, metrics: StepMetrics | null = null): void {
    this.control.onProgress({
      run: this.id,
      stage,
      done,
      total,
      metrics,
      remainingSeconds: this.remaining.seconds(),
      message,
    });
  }
}
