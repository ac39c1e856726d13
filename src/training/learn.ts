/**
 * The optimiser's part of one iteration, out of what the store holds: so a step that is executed again, after a crash or to rebuild a
 * snapshot, is the same step.
 */
import type { Tokenizer } from '../policy/tokenizer.ts';
import type { ModelRuntime } from '../runtime/host.ts';
import { C3Error } from '../shared/errors.ts';
import type { StepMetrics } from '../shared/records.ts';
import type { StoreReader } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import { creditVariance, shapeWithK1, trainingContexts, withReference, type LearningGroup } from './advantages.ts';
import type { RunConfig } from './config.ts';
import { methodNamed } from './methods/methods.ts';
import { cosineSchedule } from './schedule.ts';

export interface LearnInput {
  readonly run: string;
  readonly config: RunConfig;
  readonly store: StoreReader;
  readonly runtime: ModelRuntime;
  readonly tokenizer: Tokenizer;
  readonly protocol: Protocol;
  /** Snapshot of the reference policy: what the run began with. */
  readonly base: string;
  readonly cancelled: () => boolean;
}

export type LearnReport = Pick<StepMetrics, 'loss' | 'kl' | 'clipFraction' | 'gradientNorm' | 'learningRate' | 'ratioDeviation' | 'creditVariance'>;

/**
 * One PPO update (C3 equations 15 and 16) from the stored messages and credits of an iteration; the runtime stands where the iteration before left it.
 * @throws CancelledError; C3Error
 */
export async function learn(input: LearnInput, iteration: number): Promise<LearnReport> {
  const { config, runtime, cancelled } = input;
  const { ppo, sampling, memory } = config;
  const groups = learningGroups(input, iteration);
  const contexts = trainingContexts(groups, config.credit.group_normalise);
  // Also where it is not penalised: the reported divergence is one from the reference.
  const referenced = withReference(contexts, await runtime.score(input.base, contexts, sampling.temperature, cancelled));
  const shaped = ppo.kl_estimator === 'k1' ? shapeWithK1(referenced, ppo.kl_coefficient) : referenced;
  const rate = cosineSchedule({ peak: ppo.learning_rate, warmupFraction: ppo.warmup_fraction, totalSteps: config.steps * ppo.epochs, floorFraction: ppo.final_fraction });
  let result: LearnReport = { loss: 0, kl: 0, clipFraction: 0, gradientNorm: 0, learningRate: 0, ratioDeviation: 0, creditVariance: creditVariance(groups) };
  for (let epoch = 0; epoch < ppo.epochs; epoch++) {
    const learningRate = rate((iteration - 1) * ppo.epochs + epoch);
    const klCoefficient = ppo.kl_estimator === 'k3' ? ppo.kl_coefficient : 0;
    const settings = { loss: 'ppo', learningRate, temperature: sampling.temperature, klCoefficient, recompute: memory.recompute, microBatchTokens: memory.micro_batch_tokens } as const;
    const report = await runtime.step(shaped, settings, cancelled);
    // The first step after sampling shows how far sampler and trainer agree; later epochs move on purpose.
    const ratioDeviation = epoch === 0 ? report.ratioDeviation : result.ratioDeviation;
    result = { ...result, loss: report.loss, kl: report.kl, clipFraction: report.clipFraction, gradientNorm: report.gradientNorm, learningRate, ratioDeviation };
  }
  return result;
}

/** The groups of an iteration, in the order in which they were stored. */
function learningGroups({ run, config, store, tokenizer }: LearnInput, iteration: number): LearningGroup[] {
  const { estimator, compared } = methodNamed(config.method);
  const groups = Map.groupBy(store.trainingMessages(run, iteration, estimator(config)), ({ bucket }) => bucket);
  const prompts = new Map<string, Int32Array>();
  return [...groups.values()].flatMap((messages) => {
    const first = messages[0];
    if (first === undefined) return [];
    const prompt = prompts.get(first.context) ?? tokenizer.encode(first.context);
    prompts.set(first.context, prompt);
    if (prompt.length !== first.promptTokens) {
      throw new C3Error('model', `A context of step ${String(iteration)} of run ${run} has ${String(prompt.length)} tokens where it had ${String(first.promptTokens)}; put the model's own tokenizer back.`);
    }
    const group = compared === 'context' ? String(first.bucket) : `${first.instance} ${String(first.position)}`;
    return [{ agent: first.eventType, group, prompt, messages }];
  });
}
