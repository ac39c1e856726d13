/** The stored messages of a step or of a stage of it, as updates learn from them. */
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { TrainingContext } from '../runtime/train/pack.ts';
import { C3Error } from '../shared/errors.ts';
import { learns } from '../shared/rolePolicies.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import type { StoreReader, TrainingMessage } from '../store/types.ts';
import { trainingContexts, withReference, type LearningGroup } from './advantages.ts';
import type { RunConfig } from './config/config.ts';
import type { Method } from './methods/method.ts';

export interface StageMessages {
  /** All messages of the stage. */
  readonly said: readonly TrainingMessage[];
  /** Those that are learned from. */
  readonly learned: readonly TrainingMessage[];
  readonly groups: readonly LearningGroup[];
  /** Their contexts with the log-probabilities of the reference policy. */
  readonly contexts: readonly TrainingContext[];
}

interface StageInput {
  readonly run: string;
  readonly config: RunConfig;
  readonly method: Method;
  readonly store: StoreReader;
  readonly runtime: ModelRuntime;
  readonly tokenizer: Tokenizer;
  readonly base: string;
  readonly signal: AbortSignal;
}

/** Reads a stage. @throws CancelledError; C3Error */
export async function stageMessages(input: StageInput, iteration: number, stage: number): Promise<StageMessages> {
  const { run, config, method, store, runtime, base, signal } = input;
  const said = store.trainingMessages(run, iteration, method.estimator(config), stage);
  const learned = said.filter(({ eventType }) => learns(config.policies, eventType));
  const groups = await learningGroups(input, iteration, learned, method.compared);
  const contexts = trainingContexts(groups, config.credit.group_normalise);
  // Also where it is not penalised: the reported divergence is one from the reference.
  const reference = await runtime.score(base, contexts, config.sampling.temperature, signal);
  return { said, learned, groups, contexts: withReference(contexts, reference) };
}

/** The groups of an iteration, in the order in which they were stored. */
async function learningGroups(
  { run, tokenizer }: Pick<StageInput, 'run' | 'tokenizer'>,
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
