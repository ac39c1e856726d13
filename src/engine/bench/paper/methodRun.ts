/** A finished run of the store as the comparison of methods takes it. */
import type { Budget, MethodRun, Solved } from '../../../diagnostics/methods/methodComparison.ts';
import { EVALUATION_ROUNDS, type EvaluationKind } from '../../../domain/evaluation.ts';
import type { Ledger } from '../../../domain/run.ts';
import { C3Error } from '../../../shared/errors.ts';
import type { StoreReader } from '../../../store/types.ts';
import { solvedReturn } from '../../../team/rounds.ts';
import { contextEstimator } from '../../../training/methods/methods.ts';
import { diagnose, evaluationSamples } from '../../diagnose/diagnose.ts';
import { contextSamples } from '../../diagnose/trainingCredit.ts';
import { parseRecipe, protocolOf } from '../../recipe/recipe.ts';

/**
 * What a run showed: its last evaluation, its newest diagnostic sample where it has one, what its training cost. Runs
 * without an evaluation before training only: then all that the ledger holds at the last step is training's.
 * @throws C3Error('input') for a run that is not finished or was evaluated before it was trained
 */
export function methodRunOf(store: StoreReader, run: string, budget: Budget): MethodRun {
  const { method, seed, status } = store.run(run);
  const { config, ...recipe } = parseRecipe(store.runConfig(run), run);
  if (status !== 'done') {
    throw new C3Error('input', `Run ${run} is not finished; resume it with c3 run --resume ${run}.`);
  }
  if (config.steps > 0 && (config.evaluation.before || config.evaluation.every > 0)) {
    throw new C3Error(
      'input',
      `Run ${run} was evaluated before or during training, and its ledger does not separate the two; set evaluation.before: false and evaluation.every: 0.`,
    );
  }
  const protocol = protocolOf({ config, ...recipe });
  const scored = solvedReturn(protocol);
  const last = (kind: EvaluationKind): Solved[] => {
    const round = EVALUATION_ROUNDS.find(
      (one) => one.kind === kind && one.stage === (config.steps > 0 ? 'after' : 'before'),
    );
    return evaluationSamples(store, run, round?.iteration ?? 0, scored).map((samples) => {
      const measured = samples.filter((value) => value !== null);
      return { solved: measured.filter((value) => value === 1).length, samples: measured.length };
    });
  };
  const steps = store.steps(run, 0, store.countSteps(run));
  const ledger = steps.at(-1)?.ledger;
  const sampled = contextSamples(store, run).length > 0;
  const diagnosis = sampled
    ? diagnose(store, run, { origin: 'diagnostic', estimator: contextEstimator(config), protocol })
    : null;
  return {
    task: config.task.name,
    budget,
    method,
    seed,
    run,
    greedy: last('greedy'),
    sampled: last('sampled'),
    // Null for mappo on a sample from before credits were stored with it: its baseline, the value head's word on a
    // context, is not in the returns.
    fidelity: diagnosis?.fidelity.all?.value ?? null,
    variance: diagnosis?.variance?.value ?? null,
    influence: diagnosis?.distinctInfluence?.value ?? null,
    publishedInfluence: diagnosis?.influence?.value ?? null,
    contexts: diagnosis?.contexts ?? 0,
    evaluatorCalls: requested(ledger),
    tokens: ledger?.tokens ?? { prompt: 0, reused: 0, completion: 0 },
    decisions: ledger?.decisions ?? {},
    seconds: steps.length === 0 ? 0 : (store.run(run).summary?.seconds ?? 0),
    curve: steps.flatMap(({ iteration, metrics, ledger: spent }) =>
      metrics === null || metrics.meanReturn === null
        ? []
        : [
            {
              step: iteration,
              meanReturn: metrics.meanReturn,
              evaluatorCalls: requested(spent),
              tokens: spent.tokens.prompt + spent.tokens.completion,
            },
          ],
    ),
  };
}

/** Evaluations that a run asked for, made or reused: what the methods are matched by. */
const requested = (ledger: Ledger | undefined): number =>
  (ledger?.evaluatorCalls ?? 0) + (ledger?.reusedEvaluations ?? 0);
