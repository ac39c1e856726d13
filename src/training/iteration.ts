/** One C3 iteration: fan out, score, credit, one PPO update (Algorithm 1, equations 7 to 16). */
import { mean } from '../credit/describe.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { EvaluatorBudget } from '../replay/budget.ts';
import { recordTrainingTree, type RoundRecord } from '../replay/record.ts';
import { callsOfFanout, grow, leavesOf, returnOf, type TreeNode } from '../replay/tree.ts';
import type { ModelRuntime } from '../runtime/host.ts';
import type { Instance, StepMetrics } from '../shared/records.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import { creditVariance, shapeWithK1, trainingContexts, withReference } from './advantages.ts';
import { runSampling, type RunConfig } from './config.ts';
import { creditRule } from './credits.ts';

export interface IterationInput {
  readonly config: RunConfig;
  readonly iteration: number;
  readonly instances: readonly Instance[];
  readonly policy: Policy;
  /** Snapshot of the reference policy. */
  readonly reference: string;
  readonly runtime: ModelRuntime;
  readonly protocol: Protocol;
  readonly evaluator: Evaluator;
  readonly store: StoreWriter;
  readonly round: RoundRecord;
  readonly learningRate: (epoch: number) => number;
  readonly clock: () => number;
  readonly cancelled: () => boolean;
  /** Hears of the finished tree before training. */
  readonly onTree: (roots: readonly TreeNode[]) => void;
}

/** Why a configuration's fan-out does not fit a protocol, in one sentence; null where it does, and where nothing is trained. */
export function fanoutProblem({ steps, fanout, evaluator_budget: budget }: RunConfig, protocol: Protocol): string | null {
  if (steps === 0) return null;
  const positions = protocol.occurrences.map(({ position }) => position);
  if (fanout.length !== positions.length) {
    return `fanout has ${String(fanout.length)} numbers where the protocol ${protocol.name} has ${String(positions.length)} decisions; give one for each.`;
  }
  const calls = callsOfFanout(protocol, positions, fanout);
  return calls <= budget ? null : `fanout [${fanout.join(', ')}] needs ${String(calls)} evaluator calls per instance with the protocol ${protocol.name}, more than evaluator_budget (${String(budget)}); change one of the two.`;
}

/** @throws CancelledError; C3Error */
export async function iterate(input: IterationInput): Promise<StepMetrics> {
  const { config, protocol, policy, runtime, store, cancelled } = input;
  const started = input.clock();
  const positions = protocol.occurrences.map(({ position }) => position);
  const roots = await grow(
    {
      protocol,
      policy,
      evaluator: input.evaluator,
      budget: new EvaluatorBudget(input.instances.length * config.evaluator_budget),
      sampling: runSampling(config),
      seed: config.seed,
      scope: `iteration:${String(input.iteration)}`,
    },
    input.instances.map((instance) => ({ instance, node: null })),
    positions,
    config.fanout,
    { cancelled },
  );
  input.onTree(roots);
  const siblings = config.fanout[0] ?? 1;
  const rule = creditRule(config.credit.estimator);
  const groups = store.transaction(() =>
    input.instances.flatMap((_, index) => recordTrainingTree(store, roots.slice(index * siblings, (index + 1) * siblings), protocol, input.round, rule)),
  );
  const generated = input.clock();
  const report = await update(input, trainingContexts(groups, config.credit.group_normalise), runtime);
  const returns = roots.flatMap(leavesOf).flatMap((leaf) => returnOf(leaf, config.credit.return_clip) ?? []);
  return {
    meanReturn: returns.length === 0 ? 0 : mean(returns),
    ...report,
    creditVariance: creditVariance(groups),
    generateSeconds: generated - started,
    trainSeconds: input.clock() - generated,
  };
}

type UpdateReport = Pick<StepMetrics, 'loss' | 'kl' | 'clipFraction' | 'gradientNorm' | 'learningRate' | 'ratioDeviation'>;

async function update(input: IterationInput, contexts: ReturnType<typeof trainingContexts>, runtime: ModelRuntime): Promise<UpdateReport> {
  const { ppo, sampling } = input.config;
  // Also where it is not penalised: the reported divergence is one from the reference.
  const referenced = withReference(contexts, await runtime.score(input.reference, contexts, sampling.temperature, input.cancelled));
  const shaped = ppo.kl_estimator === 'k1' ? shapeWithK1(referenced, ppo.kl_coefficient) : referenced;
  let result: UpdateReport = { loss: 0, kl: 0, clipFraction: 0, gradientNorm: 0, learningRate: 0, ratioDeviation: 0 };
  for (let epoch = 0; epoch < ppo.epochs; epoch++) {
    const learningRate = input.learningRate(epoch);
    const klCoefficient = ppo.kl_estimator === 'k3' ? ppo.kl_coefficient : 0;
    const report = await runtime.step(shaped, { loss: 'ppo', learningRate, temperature: sampling.temperature, klCoefficient }, input.cancelled);
    // The first step after sampling shows how far sampler and trainer agree; later epochs move on purpose.
    const ratioDeviation = epoch === 0 ? report.ratioDeviation : result.ratioDeviation;
    result = { loss: report.loss, kl: report.kl, clipFraction: report.clipFraction, gradientNorm: report.gradientNorm, learningRate, ratioDeviation };
  }
  return result;
}
