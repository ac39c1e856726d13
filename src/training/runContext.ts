/** What a run works with, shared by its training and its evaluations. */
import type { Problem } from '../domain/problem.ts';
import type { StepMetrics } from '../domain/step.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { LocalPolicy, type Policy, type RolePolicy } from '../policy/policy.ts';
import { teamPolicy } from '../policy/teamPolicy.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import type { RoundRecord } from '../replay/recordTree.ts';
import type { Environments } from '../replay/unfold.ts';
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { RunProgress, RunStage } from '../shared/protocols/jobs.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import type { RunConfig } from './config/config.ts';
import { Remaining, runWork, type ExpectedPace } from './measure/remaining.ts';
import type { Method } from './methods/method.ts';
import { CostAccount } from './state/account.ts';

export interface RunDependencies {
  readonly store: StoreWriter;
  /** Holds the run's model and nothing else's; the run begins and ends training on it. */
  readonly runtime: ModelRuntime;
  /** Snapshot of the loaded model: what the run begins with. */
  readonly base: string;
  readonly tokenizer: Tokenizer;
  readonly protocol: Protocol;
  /** Writes contexts as the model reads them. */
  readonly render: Renderer;
  /** Positions of the model: what a context and its answer together may take. */
  readonly maxPositions: number;
  /** Of roles that weights of their own answer for. */
  readonly roles?: ReadonlyMap<string, RolePolicy>;
  readonly evaluator: Evaluator;
  /** The one that the configuration names unless given. */
  readonly method?: Method;
  readonly train: readonly Problem[];
  readonly evaluation: readonly Problem[];
  /** The run's recipe as the store keeps it. */
  readonly recipe: string;
  readonly modelFolder: string;
  /** Where the weights of this run's snapshots and its checkpoints are kept. */
  readonly snapshotFolder: string;
  /** False: every result is paid for, also one that is determined by an equal one; to compare with. */
  readonly reuse?: boolean;
  /** Where environments come from; the bundled ones unless given. */
  readonly environments?: Environments;
  /** Seconds, for the ledger and for whoever watches. */
  readonly clock: () => number;
  /** Before the run has shown a pace of its own, for whoever watches. */
  readonly expected: ExpectedPace;
  /** The time of day as ISO 8601, for the run's row only. */
  readonly now: () => string;
  /** Hears of a new run when its row is stored. */
  readonly onStored?: (run: string) => void;
}

export interface RunControl {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RunProgress) => void;
}

/** One run at work: what it is, what it works with, its account and how it reports. */
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
      runWork(config, dependencies.evaluation.length, store.run(id).steps),
      dependencies.expected,
      clock,
    );
  }

  /** What the growing of trees is given beside the run's own. */
  get growth(): Pick<RunDependencies, 'reuse' | 'environments'> {
    const { reuse, environments } = this.dependencies;
    return { ...(reuse !== undefined && { reuse }), ...(environments !== undefined && { environments }) };
  }

  policy(snapshot: string): Policy {
    const { runtime, tokenizer, maxPositions, roles } = this.dependencies;
    const model = new LocalPolicy(runtime, tokenizer, snapshot, maxPositions);
    return teamPolicy(model, this.config.policies, tokenizer, roles);
  }

  round(phase: 'train' | 'evaluate', iteration: number, snapshot: string): RoundRecord {
    // An evaluation counts what was solved; only credit is computed from clipped returns.
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
