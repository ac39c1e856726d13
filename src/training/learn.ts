/**
 * The optimiser's part of one iteration, out of what the store holds: so a step that is executed again, after a crash
 * or to rebuild a snapshot, is the same step.
 */
import { learns } from '../shared/rolePolicies.ts';
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { TrainingContext } from '../runtime/train/pack.ts';
import type { ValueExample, ValueSettings } from '../runtime/train/valueHead.ts';
import { C3Error } from '../shared/errors.ts';
import type { StepMetrics } from '../shared/records/stepMetrics.ts';
import type { StoreReader, TrainingMessage } from '../store/types.ts';
import { creditVariance, trainingContexts, withReference, type LearningGroup } from './advantages.ts';
import type { RunConfig } from './config/config.ts';
import { messageDivergence, type Divergence } from './divergence.ts';
import { stateAfter } from './state/methodStates.ts';
import type { Method, Outcome, Update, Updates, ValueTarget } from './methods/method.ts';
import { methodNamed } from './methods/methods.ts';
import { penalized, penaltyOf } from './penalty.ts';
import { statesOf, type Moment, type StateForm } from './state/states.ts';

export interface LearnInput extends StateForm {
  readonly run: string;
  readonly config: RunConfig;
  /** The run's method; the one that its configuration names unless given. */
  readonly method?: Method;
  readonly store: StoreReader;
  readonly runtime: ModelRuntime;
  /** Snapshot of the reference policy: what the run began with. */
  readonly base: string;
  readonly signal: AbortSignal;
}

/** What the updates of a step showed; the run adds what sampling showed. */
export type LearnReport = Omit<StepMetrics, 'meanReturn' | 'generateSeconds' | 'trainSeconds'>;

/**
 * Makes a method's updates from the stored messages and credits of an iteration; the runtime is where the iteration
 * before left it.
 * @throws CancelledError; C3Error
 */
export async function learn(input: LearnInput, iteration: number): Promise<LearnReport> {
  const { config, runtime, signal, method = methodNamed(config.method) } = input;
  const { sampling, memory } = config;
  const { store, run } = input;
  const state = stateAfter({ store, run, method }, iteration);
  const isLearned = (role: string): boolean => learns(config.policies, role);
  const said = store.trainingMessages(run, iteration, method.estimator(config));
  const learned = said.filter(({ eventType }) => isLearned(eventType));
  const groups = await learningGroups(input, iteration, learned, method.compared);
  const contexts = trainingContexts(groups, config.credit.group_normalise);
  // Also where it is not penalised: the reported divergence is one from the reference.
  const referenced = withReference(contexts, await runtime.score(input.base, contexts, sampling.temperature, signal));
  const settings = {
    loss: 'ppo',
    temperature: sampling.temperature,
    recompute: memory.recompute,
    microBatchTokens: memory.micro_batch_tokens,
  } as const;
  let result: LearnReport = {
    loss: 0,
    kl: 0,
    clipFraction: 0,
    gradientNorm: 0,
    learningRate: 0,
    ratioDeviation: 0,
    creditVariance: creditVariance(groups),
  };
  const before = await runtime.snapshots();
  const last = await runtime.freeze();
  let passes = 0;
  let kept = false;
  const make = async (update: Update): Promise<Outcome> => {
    switch (update.kind) {
      case 'values':
        result = { ...result, valueLoss: await learnValues(input, said, learned, targetOf(method, config), update) };
        return {};
      case 'keep':
        await runtime.keepTraining();
        kept = true;
        return {};
      case 'revert':
        // What an earlier step kept is gone after an interruption.
        if (!kept) {
          throw new Error(
            `Step ${String(iteration)} of run ${run} restores weights that it did not save; a method must save before it restores, in each step.`,
          );
        }
        await runtime.revertTraining(update.share);
        return {};
      case 'divergence':
        return { divergence: await divergenceOf(input, contexts, update.exact === true ? last : null) };
      case 'policy': {
        const { learningRate, agents, loss } = update;
        const own =
          agents === undefined
            ? referenced
            : referenced.filter(({ agent }) => agent !== undefined && agents.includes(agent));
        const penalty = penalized(update.kl ?? penaltyOf(config), own, { reference: input.base, last });
        const policy = { ...loss, ...(penalty.kl !== undefined && { kl: penalty.kl }) };
        const report = await runtime.step(
          penalty.contexts,
          { ...settings, ...penalty.settings, learningRate, ...((loss ?? penalty.kl) !== undefined && { policy }) },
          signal,
        );
        // The first step after sampling shows how far sampler and trainer agree; later ones move on purpose.
        const ratioDeviation = passes++ === 0 ? report.ratioDeviation : result.ratioDeviation;
        result = {
          ...result,
          loss: report.loss,
          kl: report.kl,
          ...(report.penalty !== undefined && { penalty: report.penalty }),
          clipFraction: report.clipFraction,
          gradientNorm: report.gradientNorm,
          learningRate,
          ratioDeviation,
        };
        return { report };
      }
    }
  };
  try {
    await drive(
      method.updates({
        settings: config,
        iteration,
        state,
        agents: input.protocol.roles.map(({ name }) => name).filter(isLearned),
      }),
      make,
    );
  } finally {
    if (!before.includes(last)) {
      await runtime.releaseSnapshot(last);
    }
  }
  return result;
}

/** Makes each update of a method and gives back what it showed. */
async function drive(updates: Updates, make: (update: Update) => Promise<Outcome>): Promise<void> {
  try {
    for (let next = await updates.next({}); next.done !== true; next = await updates.next(await make(next.value))) {}
  } finally {
    await updates.return();
  }
}

/**
 * How far each agent's messages have moved from the policy that sampled them.
 * @param last its snapshot, where the whole vocabulary is compared
 */
async function divergenceOf(
  { runtime, config, signal }: LearnInput,
  contexts: readonly TrainingContext[],
  last: string | null,
): Promise<ReadonlyMap<string, Divergence>> {
  const held = await runtime.snapshots();
  const snapshot = await runtime.freeze();
  try {
    const scores = await runtime.score(snapshot, contexts, config.sampling.temperature, signal);
    const exact =
      last === null ? null : await runtime.divergence(last, snapshot, contexts, config.sampling.temperature, signal);
    const moved = contexts.flatMap(({ agent = '', messages }, index) =>
      messages.map(({ behaviour }, number) => ({
        agent,
        before: behaviour,
        after: scores[index]?.[number] ?? behaviour,
        ...(exact !== null && { exact: exact[index]?.[number] ?? new Float32Array() }),
      })),
    );
    return new Map(
      [...Map.groupBy(moved, ({ agent }) => agent)].map(([agent, own]) => [agent, messageDivergence(own)]),
    );
  } finally {
    if (!held.includes(snapshot)) {
      await runtime.releaseSnapshot(snapshot);
    }
  }
}

function targetOf(method: Method, config: RunConfig): ValueTarget {
  const target = method.valueTarget(config);
  if (target === null) {
    throw new Error('A method whose value head learns has a value target.');
  }
  return target;
}

/**
 * Lets the value head learn from every message that has a credit: what follows its state, which is the advantage over
 * its value, or its mean return.
 * @param said all messages of the step
 * @param learned those that are learned from
 * @returns the loss before
 */
async function learnValues(
  input: LearnInput,
  said: readonly TrainingMessage[],
  learned: readonly TrainingMessage[],
  target: ValueTarget,
  settings: ValueSettings,
): Promise<number> {
  const { store, runtime, signal } = input;
  const stored = new Map(store.messages(said.map(({ decision }) => decision)).map((message) => [message.id, message]));
  const questions = new Map(
    [...new Set(learned.map(({ instance }) => instance))].map((instance) => [
      instance,
      store.instance(instance).question,
    ]),
  );
  const { states, places } = await statesOf(
    input,
    learned.map(({ decision, instance, position, tokens }): Moment => {
      const messages = new Map<number, string>();
      for (
        let above = stored.get(stored.get(decision)?.parent ?? -1);
        above !== undefined;
        above = stored.get(above.parent ?? -1)
      ) {
        messages.set(above.position, above.text);
      }
      return {
        position,
        question: questions.get(instance) ?? '',
        messages,
        ...(target === 'message' && { said: tokens }),
      };
    }),
  );
  const examples = learned.flatMap(({ credit, decision }, index): ValueExample[] => {
    const [state, value] = [places[index] ?? -1, stored.get(decision)?.return ?? null];
    if (credit === null) {
      return [];
    }
    if (target === 'state') {
      return [{ state, advantage: credit }];
    }
    return value === null ? [] : [{ state, target: value }];
  });
  return runtime.learnValues(states, examples, settings, signal);
}

/** The groups of an iteration, in the order in which they were stored. */
async function learningGroups(
  { run, tokenizer }: LearnInput,
  iteration: number,
  learned: readonly TrainingMessage[],
  compared: Method['compared'],
): Promise<LearningGroup[]> {
  const groups = Map.groupBy(learned, ({ bucket }) => bucket);
  const contexts = [...new Set([...groups.values()].flatMap(([first]) => first?.context ?? []))];
  const prompts = new Map(
    await Promise.all(contexts.map(async (context) => [context, await tokenizer.encode(context)] as const)),
  );
  return [...groups.values()].flatMap((messages) => {
    const first = messages[0];
    if (first === undefined) {
      return [];
    }
    const prompt = prompts.get(first.context) ?? new Int32Array();
    if (prompt.length !== first.promptTokens) {
      throw new C3Error(
        'model',
        `A context of step ${String(iteration)} of run ${run} has ${String(prompt.length)} tokens where it had ${String(first.promptTokens)}; put the model's own tokenizer back.`,
      );
    }
    const group = compared === 'context' ? String(first.bucket) : `${first.instance} ${String(first.position)}`;
    return [{ agent: first.eventType, group, prompt, messages }];
  });
}
