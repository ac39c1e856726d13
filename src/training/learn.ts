/**
 * The optimiser's part of one iteration, out of what the store holds: so a step that is executed again, after a crash or to rebuild a
 * snapshot, is the same step.
 */
import type { ModelRuntime } from '../runtime/host.ts';
import type { ValueExample, ValueSettings } from '../runtime/train/valueHead.ts';
import { C3Error } from '../shared/errors.ts';
import type { StepMetrics } from '../shared/records/records.ts';
import type { StoreReader, TrainingMessage } from '../store/types.ts';
import { creditVariance, shapeWithK1, trainingContexts, withReference, type LearningGroup } from './advantages.ts';
import type { RunConfig } from './config.ts';
import type { Judged, Method } from './methods/method.ts';
import { methodNamed } from './methods/methods.ts';
import { cosineSchedule } from './schedule.ts';
import { statesOf, type Moment, type StateForm } from './states.ts';

export interface LearnInput extends StateForm {
  readonly run: string;
  readonly config: RunConfig;
  readonly store: StoreReader;
  readonly runtime: ModelRuntime;
  /** Snapshot of the reference policy: what the run began with. */
  readonly base: string;
  readonly cancelled: () => boolean;
}

export type LearnReport = Pick<StepMetrics, 'loss' | 'kl' | 'clipFraction' | 'gradientNorm' | 'learningRate' | 'ratioDeviation' | 'creditVariance' | 'valueLoss'>;

/**
 * One PPO update (C3 equations 15 and 16) from the stored messages and credits of an iteration; the runtime stands where the iteration before left it.
 * @throws CancelledError; C3Error
 */
export async function learn(input: LearnInput, iteration: number): Promise<LearnReport> {
  const { config, runtime, cancelled } = input;
  const { ppo, sampling, memory } = config;
  const method = methodNamed(config.method);
  const learned = input.store.trainingMessages(input.run, iteration, method.estimator(config));
  const groups = await learningGroups(input, iteration, learned, method.compared);
  const contexts = trainingContexts(groups, config.credit.group_normalise);
  // Also where it is not penalised: the reported divergence is one from the reference.
  const referenced = withReference(contexts, await runtime.score(input.base, contexts, sampling.temperature, cancelled));
  const shaped = ppo.kl_estimator === 'k1' ? shapeWithK1(referenced, ppo.kl_coefficient) : referenced;
  const schedule = { warmupFraction: ppo.warmup_fraction, floorFraction: ppo.final_fraction };
  const rate = cosineSchedule({ ...schedule, peak: ppo.learning_rate, totalSteps: config.steps * ppo.epochs });
  let result: LearnReport = { loss: 0, kl: 0, clipFraction: 0, gradientNorm: 0, learningRate: 0, ratioDeviation: 0, creditVariance: creditVariance(groups) };
  const judged = method.judged(config);
  if (judged !== null) {
    // Before the policy moves: values are those that the credits took.
    const { learning_rate: peak, epochs, clip } = config.value_head;
    result = { ...result, valueLoss: await learnValues(input, learned, judged, { learningRate: cosineSchedule({ ...schedule, peak, totalSteps: config.steps })(iteration - 1), epochs, clip }) };
  }
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

/** Lets the value head learn from every message that has a credit: what follows its state, which is the advantage over its value, or its mean return. @returns the loss before */
async function learnValues(input: LearnInput, learned: readonly TrainingMessage[], judged: Judged, settings: ValueSettings): Promise<number> {
  const { store, runtime, cancelled } = input;
  const stored = new Map(store.messages(learned.map(({ decision }) => decision)).map((message) => [message.id, message]));
  const questions = new Map([...new Set(learned.map(({ instance }) => instance))].map((instance) => [instance, store.instance(instance).question]));
  const { states, places } = await statesOf(
    input,
    learned.map(({ decision, instance, position, tokens }): Moment => {
      const messages = new Map<number, string>();
      for (let above = stored.get(stored.get(decision)?.parent ?? -1); above !== undefined; above = stored.get(above.parent ?? -1)) messages.set(above.position, above.text);
      return { position, question: questions.get(instance) ?? '', messages, ...(judged === 'message' && { said: tokens }) };
    }),
  );
  const examples = learned.flatMap(({ credit, decision }, index): ValueExample[] => {
    const [state, target] = [places[index] ?? -1, stored.get(decision)?.return ?? null];
    if (credit === null) return [];
    if (judged === 'state') return [{ state, advantage: credit }];
    return target === null ? [] : [{ state, target }];
  });
  return runtime.learnValues(states, examples, settings, cancelled);
}

/** The groups of an iteration, in the order in which they were stored. */
async function learningGroups({ run, tokenizer }: LearnInput, iteration: number, learned: readonly TrainingMessage[], compared: Method['compared']): Promise<LearningGroup[]> {
  const groups = Map.groupBy(learned, ({ bucket }) => bucket);
  const contexts = [...new Set([...groups.values()].flatMap(([first]) => first?.context ?? []))];
  const prompts = new Map(await Promise.all(contexts.map(async (context) => [context, await tokenizer.encode(context)] as const)));
  return [...groups.values()].flatMap((messages) => {
    const first = messages[0];
    if (first === undefined) return [];
    const prompt = prompts.get(first.context) ?? new Int32Array();
    if (prompt.length !== first.promptTokens) {
      throw new C3Error('model', `A context of step ${String(iteration)} of run ${run} has ${String(prompt.length)} tokens where it had ${String(first.promptTokens)}; put the model's own tokenizer back.`);
    }
    const group = compared === 'context' ? String(first.bucket) : `${first.instance} ${String(first.position)}`;
    return [{ agent: first.eventType, group, prompt, messages }];
  });
}
