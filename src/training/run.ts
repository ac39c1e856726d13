/** One run: evaluation before, C3 iterations (Algorithm 1), evaluation after; everything is stored as it happens. */
import { join } from 'node:path';
import { pairedBootstrap, wilson } from '../credit/interval.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { LocalPolicy } from '../policy/policy.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import { LedgerCounter } from '../replay/budget.ts';
import { recordSubtree, type RoundRecord } from '../replay/record.ts';
import type { TreeNode } from '../replay/tree.ts';
import type { ModelRuntime } from '../runtime/host.ts';
import { C3Error, CancelledError } from '../shared/errors.ts';
import type { RunProgress, RunStage } from '../shared/engineProtocol.ts';
import { EVALUATION_ROUNDS } from '../shared/evaluationRounds.ts';
import type { EvaluationKind, Instance, Interval, RunStatus, RunSummary, StepMetrics } from '../shared/records.ts';
import type { StoreWriter } from '../store/types.ts';
import { occurrenceAt, type Protocol } from '../team/protocol.ts';
import { runSampling, type RunConfig } from './config.ts';
import { evaluate } from './evaluation.ts';
import { fanoutProblem, iterate } from './iteration.ts';
import { cosineSchedule } from './schedule.ts';

export interface RunDependencies {
  readonly store: StoreWriter;
  /** Holds the run's model and nothing else's; the run begins and ends training on it. */
  readonly runtime: ModelRuntime;
  /** Snapshot of the loaded model: what the run begins with. */
  readonly base: string;
  readonly tokenizer: Tokenizer;
  readonly protocol: Protocol;
  readonly evaluator: Evaluator;
  readonly train: readonly Instance[];
  readonly evaluation: readonly Instance[];
  /** The run's recipe as the store keeps it. */
  readonly recipe: string;
  readonly modelFolder: string;
  /** Where the weights of this run's snapshots are kept. */
  readonly snapshotFolder: string;
  /** Seconds, for the ledger only. */
  readonly clock: () => number;
  /** The time of day as ISO 8601, for the run's row only. */
  readonly now: () => string;
}

export interface RunControl {
  readonly cancelled: () => boolean;
  readonly onProgress: (progress: RunProgress) => void;
}

/** What an evaluation found, per instance: 1, 0 or null where masked. */
type Outcomes = Readonly<Record<EvaluationKind, readonly (number | null)[]>>;

/**
 * Runs to the end. The run's row ends as done, cancelled or failed; what was stored before stays.
 * @throws CancelledError; C3Error, before anything is stored where the configuration or the instances do not fit
 */
export async function runTraining(id: string, config: RunConfig, dependencies: RunDependencies, control: RunControl): Promise<RunSummary> {
  const { store, now, base, train, evaluation } = dependencies;
  const problem = fanoutProblem(config, dependencies.protocol);
  if (problem !== null) throw new C3Error('input', problem);
  store.transaction(() => {
    store.insertRun({ id, method: config.method, seed: config.seed, title: config.title, config: dependencies.recipe, plannedSteps: config.steps, createdAt: now() });
    store.insertSnapshot({ id: base, run: id, iteration: 0, base: dependencies.modelFolder, file: null });
    store.insertInstances([...evaluation, ...train.slice(0, config.steps * config.instances_per_step)]);
  });
  try {
    const summary = await new Run(id, config, dependencies, control).execute();
    store.updateRunStatus(id, 'done', now(), summary);
    return summary;
  } catch (error) {
    recordEnd(store, id, error instanceof CancelledError ? 'cancelled' : 'failed', now());
    throw error;
  }
}

/** A store that failed may refuse this too; what ended the run is then still the error to report. */
function recordEnd(store: StoreWriter, id: string, status: RunStatus, at: string): void {
  try {
    store.updateRunStatus(id, status, at, null);
  } catch {
    // The next writer finds the run without an owner and marks it.
  }
}

class Run {
  private readonly id: string;
  private readonly config: RunConfig;
  private readonly dependencies: RunDependencies;
  private readonly control: RunControl;
  private readonly ledger: LedgerCounter;
  private readonly environment: number;

  constructor(id: string, config: RunConfig, dependencies: RunDependencies, control: RunControl) {
    this.id = id;
    this.config = config;
    this.dependencies = dependencies;
    this.control = control;
    this.ledger = new LedgerCounter(dependencies.clock);
    this.environment = dependencies.store.environmentId(dependencies.runtime.environment);
  }

  async execute(): Promise<RunSummary> {
    const { config, control } = this;
    const { store, base, evaluation, clock } = this.dependencies;
    this.progress('load', 1, 1, 'The model is loaded');
    const before = await this.evaluateBoth('before', base);
    const started = clock();
    const final = config.steps === 0 ? base : await this.train(base);
    const seconds = clock() - started;
    const after = config.steps === 0 ? before : await this.evaluateBoth('after', final);
    if (control.cancelled()) throw new CancelledError();
    const cost = this.ledger.read();
    const compare = (kind: EvaluationKind): RunSummary['accuracy'] => comparison(before[kind], after[kind], config.steps > 0 && evaluation.length > 0, config.seed);
    return {
      run: this.id,
      method: config.method,
      seed: config.seed,
      steps: config.steps,
      evaluatorCalls: cost.evaluatorCalls,
      tokens: cost.tokens,
      decisions: cost.decisions,
      accuracy: compare('greedy'),
      passAt1: compare('sampled'),
      seconds,
      store: store.path,
    };
  }

  private async train(base: string): Promise<string> {
    const { config } = this;
    const { runtime, store, tokenizer, train, protocol, evaluator, snapshotFolder, modelFolder } = this.dependencies;
    const rate = cosineSchedule({
      peak: config.ppo.learning_rate,
      warmupFraction: config.ppo.warmup_fraction,
      totalSteps: config.steps * config.ppo.epochs,
      floorFraction: config.ppo.final_fraction,
    });
    await runtime.beginTraining(base);
    this.progress('train', 0, config.steps, `Training: step 1 of ${String(config.steps)}`);
    // Fewer than asked for where there are fewer: the same question twice in one step would only repeat the same numbers.
    const perStep = Math.min(config.instances_per_step, train.length);
    let snapshot = base;
    for (let iteration = 1; iteration <= config.steps; iteration++) {
      store.insertStep({ run: this.id, iteration, snapshot, ledger: this.ledger.read() });
      const instances = Array.from({ length: perStep }, (_, index) => train[((iteration - 1) * perStep + index) % train.length]).flatMap((instance) => instance ?? []);
      const metrics = await iterate({
        config,
        iteration,
        instances,
        policy: new LocalPolicy(runtime, tokenizer, snapshot),
        reference: base,
        runtime,
        protocol,
        evaluator,
        store,
        round: this.round('train', iteration, snapshot),
        learningRate: (epoch) => rate((iteration - 1) * config.ppo.epochs + epoch),
        clock: this.dependencies.clock,
        cancelled: this.control.cancelled,
        onTree: (roots) => {
          this.book(roots);
        },
      });
      const trained = await runtime.freeze();
      const file = join(snapshotFolder, `${trained}.safetensors`);
      await runtime.saveSnapshot(trained, file);
      store.transaction(() => {
        store.insertSnapshot({ id: trained, run: this.id, iteration, base: modelFolder, file });
        store.finishStep(this.id, iteration, metrics, this.ledger.read());
      });
      // A step without any credited message gives the same weights again.
      if (snapshot !== base && snapshot !== trained) await runtime.releaseSnapshot(snapshot);
      snapshot = trained;
      this.progress('train', iteration, config.steps, `Step ${String(iteration)} of ${String(config.steps)}: mean return ${metrics.meanReturn.toFixed(3)}`, metrics);
    }
    return snapshot;
  }

  private async evaluateBoth(when: 'before' | 'after', snapshot: string): Promise<Outcomes> {
    const greedy = await this.evaluateOnce(when, 'greedy', snapshot);
    return { greedy, sampled: await this.evaluateOnce(when, 'sampled', snapshot) };
  }

  private async evaluateOnce(when: 'before' | 'after', kind: EvaluationKind, snapshot: string): Promise<(number | null)[]> {
    const { runtime, tokenizer, protocol, evaluator, evaluation, store } = this.dependencies;
    const stage: RunStage = when === 'before' ? 'evaluate-before' : 'evaluate-after';
    const number = EVALUATION_ROUNDS.find((known) => known.stage === when && known.kind === kind)?.iteration ?? 0;
    const round = this.round('evaluate', number, snapshot);
    this.progress(stage, 0, evaluation.length, `Evaluating ${kind}, ${when} training`);
    return evaluate(
      { protocol, policy: new LocalPolicy(runtime, tokenizer, snapshot), evaluator, sampling: runSampling(this.config), seed: this.config.seed, kind, batch: this.config.evaluation.batch },
      evaluation,
      {
        cancelled: this.control.cancelled,
        onBatch: (done, roots) => {
          store.transaction(() => {
            recordSubtree(store, roots, protocol, round);
          });
          this.book(roots);
          this.progress(stage, done, evaluation.length, `Evaluating ${kind}, ${when} training: ${String(done)} of ${String(evaluation.length)}`);
        },
      },
    );
  }

  private round(phase: RoundRecord['phase'], iteration: number, snapshot: string): RoundRecord {
    return { run: this.id, phase, iteration, snapshot, environment: this.environment, returnBound: this.config.credit.return_clip };
  }

  /** Books a forest's decisions and evaluator calls. */
  private book(nodes: readonly TreeNode[]): void {
    for (const node of nodes) {
      this.ledger.addDecision(occurrenceAt(this.dependencies.protocol, node.position).role, node.answer);
      if (node.score !== undefined) this.ledger.addCalls(1);
      this.book(node.children);
    }
  }

  private progress(stage: RunStage, done: number, total: number, message: string, metrics: StepMetrics | null = null): void {
    this.control.onProgress({ run: this.id, stage, done, total, metrics, message });
  }
}

/** Wilson intervals before and after, and the paired bootstrap of their difference over instances. */
function comparison(before: readonly (number | null)[], after: readonly (number | null)[], trained: boolean, seed: number): RunSummary['accuracy'] {
  const proportion = (outcomes: readonly (number | null)[]): Interval | null => {
    const measured = outcomes.filter((outcome) => outcome !== null);
    return measured.length === 0 ? null : wilson(measured.filter((outcome) => outcome === 1).length, measured.length);
  };
  const pairs = before.flatMap((value, index) => {
    const later = after[index];
    return value === null || later === null || later === undefined ? [] : [[value, later] as const];
  });
  return { before: proportion(before), after: trained ? proportion(after) : null, difference: trained ? pairedBootstrap(pairs, seed) : null };
}
