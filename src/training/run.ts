/**
 * One run: an evaluation before, the iterations of its method (C3: Algorithm 1) with evaluations at
 * intervals, and an evaluation after. Everything is stored as it happens, and an interrupted run
 * continues where it was.
 */

import { mean } from '../credit/describe.ts';
import type { EvaluationKind } from '../domain/evaluation.ts';
import type { Problem } from '../domain/problem.ts';
import type { RunSummary } from '../domain/run.ts';
import { WITHIN_STEP } from '../domain/snapshot.ts';
import type { MethodState, StepMetrics } from '../domain/step.ts';
import { removeUnfinished } from '../files/newFile.ts';
import { C3Error, CancelledError } from '../shared/errors.ts';
import type { RunConfig } from './config/config.ts';
import { sampleIteration } from './iteration.ts';
import { learnStep, type LearnInput } from './learn.ts';
import { compareOutcomes } from './measure/accuracy.ts';
import { RunEvaluations } from './measure/runEvaluations.ts';
import { measureTurnLevels, type TurnLevels } from './measure/turnLevels.ts';
import type { Method } from './methods/method.ts';
import { getMethod, listMethodRemarks, valuesStates } from './methods/methods.ts';
import { RunContext, type RunControl, type RunDependencies } from './runContext.ts';
import { checkpointPath, removeOldCheckpoints, snapshotPath, valueHeadPath } from './state/checkpoints.ts';
import { storeFinalState } from './state/methodStates.ts';
import { restoreTraining, findSnapshotAfter } from './state/restore.ts';
import { valueTrees } from './state/states.ts';

/** One run, whose state is always read from the store: a new run has nothing stored yet. */
export class Run {
  private readonly context: RunContext;
  private readonly evaluations: RunEvaluations;
  private readonly method: Method;
  private readonly learning: LearnInput;

  constructor(id: string, config: RunConfig, dependencies: RunDependencies, control: RunControl) {
    this.context = new RunContext(id, config, dependencies, control);
    this.evaluations = new RunEvaluations(this.context);
    this.method = dependencies.method ?? getMethod(config.method);
    this.learning = { ...dependencies, run: id, config, method: this.method, signal: control.signal };
  }

  async execute(): Promise<RunSummary> {
    const { config, control, account } = this.context;
    const { store, base, evaluation, snapshotFolder } = this.context.dependencies;
    this.context.progress('load', 1, 1, `Run ${this.context.id}: the model is loaded`);
    for (const remark of listMethodRemarks(config, this.context.dependencies.protocol)) {
      this.context.progress('load', 1, 1, remark);
    }
    account.write();
    removeUnfinished(snapshotFolder);
    const before =
      config.evaluation.before || config.steps === 0
        ? await this.evaluations.both('before', base)
        : { greedy: [], sampled: [] };
    account.beginTraining();
    const final = await this.train(base);
    account.endTraining();
    const after = config.steps === 0 ? before : await this.evaluations.both('after', final);
    if (control.signal.aborted) {
      throw new CancelledError();
    }
    const cost = account.ledger();
    const isCompared = config.steps > 0 && evaluation.length > 0;
    const compare = (kind: EvaluationKind): RunSummary['accuracy'] =>
      compareOutcomes(before[kind], after[kind], isCompared, config.seed);
    const { samples } = config.evaluation;
    const once = (when: 'before' | 'after'): (number | null)[] => this.evaluations.solvedOnce(when);
    return {
      run: this.context.id,
      method: config.method,
      seed: config.seed,
      steps: config.steps,
      evaluatorCalls: cost.evaluatorCalls,
      reusedEvaluations: cost.reusedEvaluations ?? 0,
      lostEvaluatorCalls: account.lostCalls,
      maskedEpisodes: store.maskedEpisodes(this.context.id),
      tokens: cost.tokens,
      decisions: cost.decisions,
      accuracy: compare('greedy'),
      passAt1: compare('sampled'),
      ...(samples > 1 && {
        passAtK: { samples, ...compareOutcomes(once('before'), once('after'), isCompared, config.seed) },
      }),
      seconds: account.trainingSeconds,
      store: store.path,
    };
  }

  /**
   * Trains from the state in the store.
   * @returns the final snapshot, held by the runtime
   */
  private async train(base: string): Promise<string> {
    const { config } = this.context;
    const { runtime, store, train, clock } = this.context.dependencies;
    const finished = store.run(this.context.id).steps;
    if (finished === config.steps) {
      return this.finalWeights(base);
    }
    let snapshot = await this.restore(finished);
    // An interruption may have left the evaluation after the last step missing or incomplete.
    await this.evaluations.during(finished, snapshot);
    this.context.progress('train', finished, config.steps, `Training: step ${finished + 1} of ${config.steps}`);
    // At most the number of questions that exist: the same question twice in one step would only repeat
    // the same random numbers.
    const perStep = Math.min(config.instances_per_step, train.length);
    for (let iteration = finished + 1; iteration <= config.steps; iteration++) {
      this.context.remaining.begin();
      const problems = Array.from(
        { length: perStep },
        (_, index) => train[((iteration - 1) * perStep + index) % train.length],
      ).flatMap((problem) => problem ?? []);
      if (!this.isSampled(iteration)) {
        await this.sample(iteration, 0, snapshot, problems);
      }
      const [started, sampled] = [clock(), this.context.account.samplingSeconds];
      const { report, state } = await learnStep(this.learning, iteration, {
        sample: async (stage, weights) => {
          await this.sample(iteration, stage, weights, problems);
          const step = `Step ${iteration} of ${config.steps}`;
          this.context.progress('train', iteration - 1, config.steps, `${step}: stage ${stage} is sampled`);
        },
      });
      const stages = this.context.account.samplingSeconds - sampled;
      const { meanReturn, masked } = this.outcome(iteration);
      const metrics = {
        meanReturn,
        ...this.turnLevels(iteration),
        ...report,
        generateSeconds: this.context.account.samplingSeconds,
        trainSeconds: clock() - started - stages,
      };
      const trained = await runtime.freeze();
      await this.keep(iteration, trained, metrics, state);
      // A step without credited messages gives the same weights again.
      if (snapshot !== base && snapshot !== trained) {
        await runtime.releaseSnapshot(snapshot);
      }
      snapshot = trained;
      this.context.remaining.trained();
      this.context.progress(
        'train',
        iteration,
        config.steps,
        `Step ${iteration} of ${config.steps}: mean return ${meanReturn === null ? 'not measured' : meanReturn.toFixed(3)}${masked === 0 ? '' : `, ${masked} episodes not scored`}`,
        metrics,
      );
      await this.evaluations.during(iteration, snapshot);
    }
    return snapshot;
  }

  /** Returns true if the first messages of a step were sampled and stored before an interruption. */
  private isSampled(iteration: number): boolean {
    const { id } = this.context;
    const { store } = this.context.dependencies;
    return store.countEpisodes({ run: id, phase: 'train', iteration }) > 0 || store.methodState(id, iteration) !== null;
  }

  private async sample(
    iteration: number,
    stage: number,
    snapshot: string,
    problems: readonly Problem[],
  ): Promise<void> {
    const { store, protocol, render, evaluator, clock, modelFolder, train } = this.context.dependencies;
    const { steps } = this.context.config;
    const pool = train.slice(0, steps * problems.length);
    const { account, id: run } = this.context;
    const started = clock();
    const earlier = stage === 0 ? 0 : account.samplingSeconds;
    await sampleIteration({
      config: this.context.config,
      method: this.method,
      problems,
      // The problems of the steps after this one, then around to those before it.
      further: Array.from(
        { length: pool.length - problems.length },
        (_, index) => pool[(iteration * problems.length + index) % pool.length],
      ).flatMap((problem) => problem ?? []),
      policy: this.context.policy(snapshot),
      protocol,
      render,
      evaluator,
      ...this.context.growth,
      store,
      round: this.context.round('train', iteration, snapshot),
      stage,
      signal: this.context.control.signal,
      valuesOf: (roots, target) =>
        valueTrees(
          this.context.dependencies,
          this.context.config.policies,
          this.context.dependencies.runtime,
          roots,
          target,
          this.context.control.signal,
        ),
      onBegin: (calls) => account.announce(calls),
      onTree: (roots, voteCalls) => {
        account.bookRoots(roots, earlier + clock() - started, voteCalls);
        if (stage === 0) {
          store.insertStep({ run, iteration, snapshot, ledger: account.ledger() });
        } else {
          store.insertSnapshot({ id: snapshot, run, iteration: WITHIN_STEP, base: modelFolder, file: null });
          store.insertStage(run, { iteration, stage, snapshot });
        }
      },
    });
  }

  /**
   * Stores the results of a step: first its weights, then the rows that name them, then the checkpoint
   * from which both could be restored.
   */
  private async keep(
    iteration: number,
    trained: string,
    metrics: StepMetrics,
    state: MethodState | null,
  ): Promise<void> {
    const { base, runtime, store, snapshotFolder, modelFolder } = this.context.dependencies;
    const { steps, snapshot_every: snapshotEvery, checkpoint_every: checkpointEvery } = this.context.config;
    const kept = iteration % snapshotEvery === 0 || iteration === steps;
    // If nothing was learned, the weights are those of the model folder.
    const file = kept && trained !== base ? snapshotPath(snapshotFolder, trained) : null;
    if (file !== null) {
      await runtime.saveSnapshot(trained, file);
    }
    if (kept && valuesStates(this.context.config)) {
      await runtime.saveValueHead(trained, valueHeadPath(snapshotFolder, this.context.id, iteration));
    }
    store.transaction(() => {
      store.insertSnapshot({ id: trained, run: this.context.id, iteration, base: modelFolder, file });
      if (state !== null) {
        storeFinalState(
          store,
          { run: this.context.id, method: this.method, config: this.context.config },
          iteration,
          state,
        );
      }
      store.finishStep(this.context.id, iteration, metrics, this.context.account.ledger());
      this.context.account.write();
    });
    if (iteration % checkpointEvery !== 0 || iteration === steps) {
      return;
    }
    await runtime.saveCheckpoint(checkpointPath(snapshotFolder, this.context.id, iteration));
    await removeOldCheckpoints(snapshotFolder, this.context.id, this.context.config);
  }

  /**
   * Returns the mean return of the episodes that an iteration learns from, or null if nothing was
   * measured, and the number of masked episodes, which are left out of the mean.
   */
  private outcome(iteration: number): { readonly meanReturn: number | null; readonly masked: number } {
    const { store } = this.context.dependencies;
    const episodes = store.learnedReturns(this.context.id, iteration);
    const returns = episodes.flatMap((value) => value ?? []);
    return { meanReturn: returns.length === 0 ? null : mean(returns), masked: episodes.length - returns.length };
  }

  /** Returns the ladder's results for each turn; empty if another evaluator scores. */
  private turnLevels(iteration: number): TurnLevels {
    const { store, protocol, evaluator } = this.context.dependencies;
    return evaluator.ofTurn === undefined
      ? {}
      : measureTurnLevels(
          store.learnedRules(this.context.id, iteration),
          store.learnedPlaces(this.context.id, iteration),
          protocol,
        );
  }

  private async restore(iteration: number): Promise<string> {
    const onStep = (step: number): void =>
      this.context.progress('load', step, iteration, `Executing step ${step} of ${iteration} again`);
    return restoreTraining(
      { ...this.learning, snapshotFolder: this.context.dependencies.snapshotFolder, onStep },
      iteration,
    );
  }

  /** Returns the weights of a completely stored run, from their file or by executing steps again. */
  private async finalWeights(base: string): Promise<string> {
    const { runtime, store } = this.context.dependencies;
    const { id, file } = findSnapshotAfter(store, this.context.id, this.context.config.steps);
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
    return this.restore(this.context.config.steps);
  }
}
