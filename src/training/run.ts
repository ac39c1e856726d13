/**
 * One run: evaluation before, iterations of its method (C3: Algorithm 1) with an evaluation every so many of them,
 * evaluation after; everything is stored as it happens, and an interrupted run goes on where it stood.
 */
import { mean } from '../credit/describe.ts';
import { EvaluatorLost, type Evaluator } from '../evaluate/evaluator.ts';
import { LocalPolicy } from '../policy/policy.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import { recordSubtree, type RoundRecord } from '../replay/record.ts';
import type { ModelRuntime } from '../runtime/host.ts';
import { C3Error, CancelledError } from '../shared/errors.ts';
import type { RunProgress, RunStage } from '../shared/protocols/jobs.ts';
import {
  EVALUATION_ROUNDS,
  isEvaluatedAfter,
  roundDuring,
  type EvaluationRound,
} from '../shared/records/evaluationRounds.ts';
import type { EvaluationKind, Instance, RunStatus, RunSummary } from '../shared/records/records.ts';
import type { StepMetrics } from '../shared/records/stepMetrics.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import { CostAccount } from './account.ts';
import { comparison, proportion } from './accuracy.ts';
import { checkpointFile, removeOldCheckpoints, removeUnfinished, snapshotFile, valueHeadFile } from './checkpoints.ts';
import { runSampling, type RunConfig } from './config.ts';
import { evaluate, instanceMeans, samplesOf, solved } from './evaluation.ts';
import { samplingProblem, sampleIteration } from './iteration.ts';
import { learn, type LearnInput } from './learn.ts';
import { requireOwnStates } from './methodStates.ts';
import type { Method } from './methods/method.ts';
import { methodNamed, methodRemarks, valuesStates } from './methods/methods.ts';
import { Remaining, runWork, type ExpectedPace } from './remaining.ts';
import { restoreTraining, snapshotAfter } from './restore.ts';
import { runInstances } from './room.ts';
import { treeValues } from './states.ts';

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
  readonly evaluator: Evaluator;
  /** The one that the configuration names unless given. */
  readonly method?: Method;
  readonly train: readonly Instance[];
  readonly evaluation: readonly Instance[];
  /** The run's recipe as the store keeps it. */
  readonly recipe: string;
  readonly modelFolder: string;
  /** Where the weights of this run's snapshots and its checkpoints are kept. */
  readonly snapshotFolder: string;
  /** False: every result is paid for, also one that is determined by an equal one; to compare with. */
  readonly reuse?: boolean;
  /** Seconds, for the ledger and for whoever watches. */
  readonly clock: () => number;
  /** Before the run has shown a pace of its own, for whoever watches. */
  readonly expected: ExpectedPace;
  /** The time of day as ISO 8601, for the run's row only. */
  readonly now: () => string;
}

export interface RunControl {
  readonly cancelled: () => boolean;
  readonly onProgress: (progress: RunProgress) => void;
}

/**
 * What an evaluation found, per instance: its share of solved episodes, null where all are masked; empty where none was
 * asked for.
 */
type Outcomes = Readonly<Record<EvaluationKind, readonly (number | null)[]>>;

/**
 * Begins a run and takes it to its end. The run's row ends as done, cancelled, failed or, where no evaluator was left,
 * interrupted; what was stored before stays.
 * @throws CancelledError; EvaluatorLost; C3Error, before anything is stored where the configuration or the instances do
 *   not fit
 */
export async function runTraining(
  id: string,
  config: RunConfig,
  dependencies: RunDependencies,
  control: RunControl,
): Promise<RunSummary> {
  const { store, now, base } = dependencies;
  const problem = samplingProblem(config, dependencies.protocol, dependencies.method);
  if (problem !== null) {
    throw new C3Error('input', problem);
  }
  store.transaction(() => {
    store.insertRun({
      id,
      method: config.method,
      seed: config.seed,
      title: config.title,
      config: dependencies.recipe,
      plannedSteps: config.steps,
      createdAt: now(),
    });
    store.insertSnapshot({ id: base, run: id, iteration: 0, base: dependencies.modelFolder, file: null });
    store.insertInstances(runInstances(config, dependencies));
  });
  return toTheEnd(id, config, dependencies, control);
}

/**
 * Takes a run that was interrupted to its end: the same weights and rows as if it had not been. Configuration and
 * instances are those that it began with.
 * @throws CancelledError; C3Error, before anything is changed where the model or the numeric environment is another one
 *   than the run's
 */
export async function resumeTraining(
  id: string,
  config: RunConfig,
  dependencies: RunDependencies,
  control: RunControl,
): Promise<RunSummary> {
  const { store, base, modelFolder, runtime } = dependencies;
  if (snapshotAfter(store, id, 0).id !== base) {
    throw new C3Error(
      'input',
      `Run ${id} cannot be resumed: the model in ${modelFolder} is no longer the one that it began with; put its weights back, or start a new run.`,
    );
  }
  const here = JSON.stringify(runtime.environment);
  const other = store
    .costs(id)
    .map(({ environment }) => JSON.stringify(store.environment(environment)))
    .find((environment) => environment !== here);
  if (other !== undefined) {
    throw new C3Error(
      'input',
      `Run ${id} cannot be resumed exactly: it was made with ${other} and this is ${here}; resume it there, or start a new run.`,
    );
  }
  requireOwnStates({ store, run: id, method: dependencies.method ?? methodNamed(config.method) });
  store.updateRunStatus(id, 'running', null, null);
  return toTheEnd(id, config, dependencies, control);
}

async function toTheEnd(
  id: string,
  config: RunConfig,
  dependencies: RunDependencies,
  control: RunControl,
): Promise<RunSummary> {
  const { store, now } = dependencies;
  try {
    const summary = await new Run(id, config, dependencies, control).execute();
    store.updateRunStatus(id, 'done', now(), summary);
    return summary;
  } catch (error) {
    if (error instanceof EvaluatorLost) {
      // As if its process had been ended: a failure that nobody saw the end of is an interruption.
      recordEnd(store, id, 'failed', null);
      const { steps } = store.run(id);
      throw new EvaluatorLost(
        `Run ${id} was interrupted at step ${String(steps)} of ${String(config.steps)}: ${withoutStop(error.message)}. What is stored stays; resume it when sandboxes work again.`,
      );
    }
    recordEnd(store, id, error instanceof CancelledError ? 'cancelled' : 'failed', now());
    throw error;
  }
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '');

/** A store that failed may refuse this too; what ended the run is then still the error to report. */
function recordEnd(store: StoreWriter, id: string, status: RunStatus, at: string | null): void {
  try {
    store.updateRunStatus(id, status, at, null);
  } catch {
    // The next writer finds the run without an owner and marks it.
  }
}

/** Everything is asked of the store, step by step: a run that begins is one of which nothing is stored yet. */
class Run {
  private readonly id: string;
  private readonly config: RunConfig;
  private readonly dependencies: RunDependencies;
  private readonly control: RunControl;
  private readonly account: CostAccount;
  private readonly environment: number;
  private readonly method: Method;
  private readonly learning: LearnInput;
  private readonly remaining: Remaining;

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
    this.method = dependencies.method ?? methodNamed(config.method);
    this.learning = { ...dependencies, run: id, config, method: this.method, cancelled: control.cancelled };
  }

  async execute(): Promise<RunSummary> {
    const { config, control, account } = this;
    const { store, base, evaluation, snapshotFolder } = this.dependencies;
    this.progress('load', 1, 1, `Run ${this.id}: the model is loaded`);
    for (const remark of methodRemarks(config, this.dependencies.protocol)) {
      this.progress('load', 1, 1, remark);
    }
    account.write();
    await removeUnfinished(snapshotFolder);
    const before =
      config.evaluation.before || config.steps === 0
        ? await this.evaluateBoth('before', base)
        : { greedy: [], sampled: [] };
    account.beginTraining();
    const final = await this.train(base);
    account.endTraining();
    const after = config.steps === 0 ? before : await this.evaluateBoth('after', final);
    if (control.cancelled()) {
      throw new CancelledError();
    }
    const cost = account.ledger();
    const compare = (kind: EvaluationKind): RunSummary['accuracy'] =>
      comparison(before[kind], after[kind], config.steps > 0 && evaluation.length > 0, config.seed);
    return {
      run: this.id,
      method: config.method,
      seed: config.seed,
      steps: config.steps,
      evaluatorCalls: cost.evaluatorCalls,
      reusedEvaluations: cost.reusedEvaluations ?? 0,
      lostEvaluatorCalls: account.lostCalls,
      maskedEpisodes: store.maskedEpisodes(this.id),
      tokens: cost.tokens,
      decisions: cost.decisions,
      accuracy: compare('greedy'),
      passAt1: compare('sampled'),
      seconds: account.trainingSeconds,
      store: store.path,
    };
  }

  /** Trains from where the store says that the run stands. @returns the final snapshot, held by the runtime */
  private async train(base: string): Promise<string> {
    const { config } = this;
    const { runtime, store, train, clock } = this.dependencies;
    const finished = store.run(this.id).steps;
    if (finished === config.steps) {
      return this.finalWeights(base);
    }
    let snapshot = await this.restore(finished);
    // An interruption may have left the evaluation after the last step undone, or half done.
    await this.evaluateDuring(finished, snapshot);
    this.progress('train', finished, config.steps, `Training: step ${String(finished + 1)} of ${String(config.steps)}`);
    // Fewer than asked for where there are fewer: the same question twice in one step would only repeat the same
    // numbers.
    const perStep = Math.min(config.instances_per_step, train.length);
    for (let iteration = finished + 1; iteration <= config.steps; iteration++) {
      this.remaining.begin();
      // Messages that are stored already were sampled before an interruption.
      if (store.countEpisodes({ run: this.id, phase: 'train', iteration }) === 0) {
        await this.sample(
          iteration,
          snapshot,
          Array.from(
            { length: perStep },
            (_, index) => train[((iteration - 1) * perStep + index) % train.length],
          ).flatMap((instance) => instance ?? []),
        );
      }
      const started = clock();
      const report = await learn(this.learning, iteration);
      const { meanReturn, masked } = this.outcome(iteration);
      const metrics = {
        meanReturn,
        ...report,
        generateSeconds: this.account.samplingSeconds,
        trainSeconds: clock() - started,
      };
      const trained = await runtime.freeze();
      await this.keep(iteration, trained, metrics);
      // A step without any credited message gives the same weights again.
      if (snapshot !== base && snapshot !== trained) {
        await runtime.releaseSnapshot(snapshot);
      }
      snapshot = trained;
      this.remaining.trained();
      this.progress(
        'train',
        iteration,
        config.steps,
        `Step ${String(iteration)} of ${String(config.steps)}: mean return ${meanReturn === null ? 'not measured' : meanReturn.toFixed(3)}${masked === 0 ? '' : `, ${String(masked)} episodes not scored`}`,
        metrics,
      );
      await this.evaluateDuring(iteration, snapshot);
    }
    return snapshot;
  }

  private async sample(iteration: number, snapshot: string, instances: readonly Instance[]): Promise<void> {
    const { store, protocol, render, evaluator, clock } = this.dependencies;
    const started = clock();
    await sampleIteration({
      config: this.config,
      method: this.method,
      instances,
      policy: this.policy(snapshot),
      protocol,
      render,
      evaluator,
      ...this.reuse,
      store,
      round: this.round('train', iteration, snapshot),
      cancelled: this.control.cancelled,
      valuesOf: (roots, target) =>
        treeValues(this.dependencies, this.dependencies.runtime, roots, target, this.control.cancelled),
      onBegin: (calls) => {
        this.account.announce(calls);
      },
      onTree: (roots) => {
        this.account.settle(roots, clock() - started);
        store.insertStep({ run: this.id, iteration, snapshot, ledger: this.account.ledger() });
      },
    });
  }

  /**
   * Stores what a step taught: its weights first, then the rows that name them, then the checkpoint from which both
   * could be had again.
   */
  private async keep(iteration: number, trained: string, metrics: StepMetrics): Promise<void> {
    const { base, runtime, store, snapshotFolder, modelFolder } = this.dependencies;
    const { steps, snapshot_every: snapshotEvery, checkpoint_every: checkpointEvery } = this.config;
    const kept = iteration % snapshotEvery === 0 || iteration === steps;
    // What taught nothing left the model folder's weights.
    const file = kept && trained !== base ? snapshotFile(snapshotFolder, trained) : null;
    if (file !== null) {
      await runtime.saveSnapshot(trained, file);
    }
    if (kept && valuesStates(this.config)) {
      await runtime.saveValueHead(trained, valueHeadFile(snapshotFolder, this.id, iteration));
    }
    store.transaction(() => {
      store.insertSnapshot({ id: trained, run: this.id, iteration, base: modelFolder, file });
      store.finishStep(this.id, iteration, metrics, this.account.ledger());
      this.account.write();
    });
    if (iteration % checkpointEvery !== 0 || iteration === steps) {
      return;
    }
    await runtime.saveCheckpoint(checkpointFile(snapshotFolder, this.id, iteration));
    await removeOldCheckpoints(snapshotFolder, this.id, this.config);
  }

  /**
   * Mean return of the episodes that an iteration learns from, masked ones left out and counted; null where nothing was
   * measured.
   */
  private outcome(iteration: number): { readonly meanReturn: number | null; readonly masked: number } {
    const { store } = this.dependencies;
    const episodes = store.learnedReturns(this.id, iteration);
    const returns = episodes.flatMap((value) => value ?? []);
    return { meanReturn: returns.length === 0 ? null : mean(returns), masked: episodes.length - returns.length };
  }

  private async restore(iteration: number): Promise<string> {
    const onStep = (step: number): void => {
      this.progress('load', step, iteration, `Executing step ${String(step)} of ${String(iteration)} again`);
    };
    return restoreTraining({ ...this.learning, snapshotFolder: this.dependencies.snapshotFolder, onStep }, iteration);
  }

  /** The weights of a run whose steps are all stored: their file, or where that is gone the steps again. */
  private async finalWeights(base: string): Promise<string> {
    const { runtime, store } = this.dependencies;
    const { id, file } = snapshotAfter(store, this.id, this.config.steps);
    if (id === base) {
      return base;
    }
    try {
      if (file !== null && (await runtime.loadSnapshot(file)) === id) {
        return id;
      }
    } catch (error) {
      if (!(error instanceof C3Error && error.kind === 'model')) {
        throw error;
      }
    }
    return this.restore(this.config.steps);
  }

  /**
   * Evaluates after a step where the configuration asks for it. It reads the weights and changes none, and its streams
   * are those of every other evaluation, so training goes on as if it had not been; its time and its calls are not
   * training's.
   */
  private async evaluateDuring(step: number, snapshot: string): Promise<void> {
    const { steps, evaluation } = this.config;
    if (!isEvaluatedAfter(step, { steps, every: evaluation.every })) {
      return;
    }
    this.account.endTraining();
    try {
      for (const kind of ['greedy', 'sampled'] as const) {
        await this.evaluateOnce(roundDuring(step, kind), snapshot);
      }
    } finally {
      this.account.beginTraining();
    }
  }

  private async evaluateBoth(when: 'before' | 'after', snapshot: string): Promise<Outcomes> {
    const outcomes: Record<EvaluationKind, readonly (number | null)[]> = { greedy: [], sampled: [] };
    for (const round of EVALUATION_ROUNDS) {
      if (round.stage === when) {
        outcomes[round.kind] = await this.evaluateOnce(round, snapshot);
      }
    }
    return outcomes;
  }

  /**
   * Evaluates what is not evaluated yet; whole batches are stored, so the next one begins where it would have begun.
   */
  private async evaluateOnce(of: EvaluationRound, snapshot: string): Promise<(number | null)[]> {
    const { protocol, render, evaluator, evaluation, store } = this.dependencies;
    const { iteration: number, kind } = of;
    const { steps } = this.config;
    const words = `Evaluating ${kind}, ${of.stage === 'during' ? `after step ${String(of.step)} of ${String(steps)}` : `${of.stage} training`}`;
    const tell = (done: number, message: string): void => {
      // Within training, what is counted stays the steps.
      if (of.stage === 'during') {
        this.progress('train', of.step ?? 0, steps, message);
      } else {
        this.progress(`evaluate-${of.stage}`, done, evaluation.length, message);
      }
    };
    const round = this.round('evaluate', number, snapshot);
    const scored = protocol.occurrences.filter((occurrence) => occurrence.scored).length;
    const { batch, samples: asked } = this.config.evaluation;
    const samples = samplesOf({ kind, samples: asked });
    const stored = store.episodes({
      run: this.id,
      phase: 'evaluate',
      iteration: number,
      offset: 0,
      limit: evaluation.length * samples,
    });
    const known = instanceMeans(
      stored.map((episode) => solved(episode.return, scored)),
      samples,
    );
    this.remaining.skip(stored.length);
    this.remaining.begin();
    tell(known.length, words);
    const measured = await evaluate(
      {
        protocol,
        render,
        policy: this.policy(snapshot),
        evaluator,
        sampling: runSampling(this.config),
        seed: this.config.seed,
        kind,
        samples,
        batch,
        ...this.reuse,
      },
      evaluation.slice(known.length),
      {
        cancelled: this.control.cancelled,
        onBegin: (calls) => {
          this.account.announce(calls);
        },
        onBatch: (done, roots) => {
          store.transaction(() => {
            recordSubtree(store, roots, protocol, round);
            this.account.settle(roots);
          });
          this.remaining.evaluated(roots.length);
          tell(known.length + done, `${words}: ${String(known.length + done)} of ${String(evaluation.length)}`);
        },
      },
    );
    const outcomes = [...known, ...measured];
    this.keepEvaluation(of, outcomes);
    return outcomes;
  }

  /** Stores what a complete evaluation measured, so that it is known at once; a run that goes on finds it there. */
  private keepEvaluation({ iteration, kind, step }: EvaluationRound, outcomes: readonly (number | null)[]): void {
    const { store } = this.dependencies;
    if (outcomes.length === 0 || store.evaluations(this.id).some((known) => known.iteration === iteration)) {
      return;
    }
    store.insertEvaluation(this.id, { iteration, step: step ?? this.config.steps, kind, result: proportion(outcomes) });
  }

  private get reuse(): Pick<RunDependencies, 'reuse'> {
    const { reuse } = this.dependencies;
    return reuse === undefined ? {} : { reuse };
  }

  private policy(snapshot: string): LocalPolicy {
    const { runtime, tokenizer, maxPositions } = this.dependencies;
    return new LocalPolicy(runtime, tokenizer, snapshot, maxPositions);
  }

  private round(phase: 'train' | 'evaluate', iteration: number, snapshot: string): RoundRecord {
    // An evaluation counts what was solved; only credit is computed from clipped returns.
    const returnBound = phase === 'train' ? this.config.credit.return_clip : Infinity;
    return { run: this.id, phase, iteration, snapshot, environment: this.environment, returnBound };
  }

  private progress(
    stage: RunStage,
    done: number,
    total: number,
    message: string,
    metrics: StepMetrics | null = null,
  ): void {
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
