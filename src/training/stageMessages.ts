/** The stored messages of a step or of a stage of it, as updates learn from them. */
import { standardScore, type Standardisation } from '../credit/standardScore.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import { C3Error } from '../shared/errors.ts';
import { learns } from '../shared/rolePolicies.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import type { StoreReader, TrainingMessage } from '../store/types.ts';
import { trainingContexts, type LearningGroup } from './advantages.ts';
import type { RunConfig } from './config/config.ts';
import type { Origin } from './divergence.ts';
import { messagesPerTurn } from '../team/rounds.ts';
import type { Protocol } from '../team/protocol.ts';
import { NodesOfTurns } from './nodesOfTurns.ts';
import type { Method } from './methods/method.ts';

export interface StageMessages {
  /** All messages of the stage. */
  readonly said: readonly TrainingMessage[];
  /** Those that are learned from. */
  readonly learned: readonly TrainingMessage[];
  readonly groups: readonly LearningGroup[];
  /** Their contexts, without the log-probabilities of the reference policy. */
  readonly contexts: readonly TrainingContext[];
  /** Nodes of rollout trees, each after those below it; empty where there are none. */
  readonly nodes: readonly string[];
  /** Where the messages come from, by their tokens; of methods whose advantages are standard scores of episodes. */
  readonly origins: ReadonlyMap<Int32Array, Origin>;
}

interface StageInput {
  readonly run: string;
  readonly config: RunConfig;
  readonly method: Method;
  readonly store: StoreReader;
  readonly tokenizer: Tokenizer;
  readonly protocol: Protocol;
}

/** Reads a stage. @throws C3Error */
export async function stageMessages(input: StageInput, iteration: number, stage: number): Promise<StageMessages> {
  const { run, config, method, store, protocol } = input;
  const said = store.trainingMessages(run, iteration, method.estimator(config), stage);
  const learned = said.filter(({ role }) => learns(config.policies, role));
  const nodes = method.byNode?.(config) === true ? new NodesOfTurns(said, messagesPerTurn(protocol)) : undefined;
  const groups = await learningGroups(input, iteration, learned, nodes);
  const signals = new Set(learned.flatMap(({ problem, credit }) => ((credit ?? 0) === 0 ? [] : [problem])));
  // Problems without a signal were replaced; where all are, they are what there is.
  const loud = groups.filter(({ problem }) => signals.has(problem));
  const kept = config.dynamic_sampling && loud.length > 0 ? loud : groups;
  const { group_normalise: scaled, normalise_scope: scope } = config.credit;
  const wide = scope === 'published' && method.scaledOver === 'step';
  const compared = wide ? kept.map((one) => ({ ...one, group: 'step' })) : kept;
  const standard = method.standardised?.(config);
  const messages = { said, learned, groups, nodes: nodes?.upward ?? [] };
  if (standard === undefined) {
    const contexts = trainingContexts(compared, scaled, nodes !== undefined || isMerged(input));
    return { ...messages, contexts, origins: new Map() };
  }
  const credits = creditsOfEpisodes(store, said);
  const contexts = trainingContexts(standardised(kept, standard, credits), false);
  return { ...messages, contexts, origins: originsOf(said, credits) };
}

/**
 * Where the credited messages of whole episodes come from, by their tokens. A credit is the return less the mean of all
 * G episodes of the problem; times G / (G - 1) it is the return less the mean of the others.
 */
function originsOf(
  said: readonly TrainingMessage[],
  credits: ReadonlyMap<string, number[]>,
): ReadonlyMap<Int32Array, Origin> {
  const parents = new Map(said.map(({ message, parent }) => [message, parent]));
  const startOf = (message: number, place = 0): { readonly episode: number; readonly place: number } => {
    const parent = parents.get(message) ?? null;
    return parent === null ? { episode: message, place } : startOf(parent, place + 1);
  };
  return new Map(
    said.flatMap(({ message, problem, credit, tokens }): [Int32Array, Origin][] => {
      const count = credits.get(problem)?.length ?? 0;
      return credit === null || count < 2
        ? []
        : [[tokens, { ...startOf(message), problem, worth: (credit * count) / (count - 1) }]];
    }),
  );
}

/** The credit of each episode that has one, by problem: what its first message has. */
function creditsOfEpisodes(store: StoreReader, said: readonly TrainingMessage[]): ReadonlyMap<string, number[]> {
  const first = new Set(
    store.messages(said.map(({ message }) => message)).flatMap(({ id, parent }) => (parent === null ? [id] : [])),
  );
  return new Map(
    [...Map.groupBy(said, ({ problem }) => problem)].map(([problem, own]) => [
      problem,
      own.flatMap(({ message, credit }) => (credit !== null && first.has(message) ? [credit] : [])),
    ]),
  );
}

/** The groups with standard scores in the place of credits, which are returns less a number of their problem. */
const standardised = (
  groups: readonly ProblemGroup[],
  standard: Standardisation,
  credits: ReadonlyMap<string, number[]>,
): LearningGroup[] =>
  groups.map(({ messages, ...group }) => {
    const score = standardScore(credits.get(group.problem) ?? [], standard);
    return {
      ...group,
      messages: messages.map((one) => ({ ...one, credit: one.credit === null ? null : score(one.credit) })),
    };
  });

type ProblemGroup = LearningGroup & { readonly problem: string };

/** Whether messages of equal contexts are learned from together. */
const isMerged = ({ config, method }: Pick<StageInput, 'config' | 'method'>): boolean =>
  method.compared === 'context' && config.credit.merge_contexts;

/** The groups of an iteration, in the order in which they were stored. */
async function learningGroups(
  { run, config, method, tokenizer }: Pick<StageInput, 'run' | 'config' | 'method' | 'tokenizer'>,
  iteration: number,
  learned: readonly TrainingMessage[],
  nodes: NodesOfTurns | undefined,
): Promise<ProblemGroup[]> {
  const merged = isMerged({ config, method });
  const groups = Map.groupBy(learned, (message) => {
    const { bucket, problem, position, context } = message;
    const place = nodes?.of(message) ?? (merged ? problem : undefined);
    return place === undefined ? String(bucket) : `${place} ${String(position)} ${context}`;
  });
  const contexts = [...new Set([...groups.values()].flatMap(([first]) => first?.context ?? []))];
  const prompts = new Map(
    await Promise.all(contexts.map(async (context) => [context, await tokenizer.encode(context)] as const)),
  );
  return [...groups].flatMap(([name, messages]) => {
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
    const node = nodes?.of(first);
    const group = method.compared === 'context' ? name : `${node ?? first.problem} ${String(first.position)}`;
    const place = { role: first.role, ...(node !== undefined && { node }) };
    return [{ ...place, group, prompt, messages, problem: first.problem }];
  });
}
