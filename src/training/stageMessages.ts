/** The stored messages of a step, or of a stage of it, in the form that updates learn from. */

import { standardScore, type Standardization } from '../credit/standardScore.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import { C3Error } from '../shared/errors.ts';
import { isLearningRole } from '../shared/rolePolicies.ts';
import type { StoreReader, TrainingMessage } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import { messagesPerTurn } from '../team/rounds.ts';
import { makeAdvantageLookup, makeTrainingContexts, type LearningGroup } from './advantages.ts';
import type { RunConfig } from './config/config.ts';
import type { Origin } from './divergence.ts';
import type { Method } from './methods/method.ts';

export interface StageMessages {
  readonly said: readonly TrainingMessage[];
  /** The messages that are learned from. */
  readonly learned: readonly TrainingMessage[];
  readonly groups: readonly LearningGroup[];
  /** The contexts of the groups, without the log-probabilities of the reference policy. */
  readonly contexts: readonly TrainingContext[];
  /** Nodes of rollout trees, each after those below it; empty if there are none. */
  readonly nodes: readonly string[];
  /** Origins of messages by their tokens, for methods whose advantages are standard scores of episodes. */
  readonly origins: ReadonlyMap<Int32Array, Origin>;
}

export interface StageInput {
  readonly run: string;
  readonly config: RunConfig;
  readonly method: Method;
  readonly store: StoreReader;
  readonly tokenizer: Tokenizer;
  readonly protocol: Protocol;
}

/**
 * Reads a stage.
 * @param once learns equal messages of a context only once, where its method does so
 * @throws C3Error
 */
export async function readStage(
  input: StageInput,
  iteration: number,
  stage: number,
  once = true,
): Promise<StageMessages> {
  const { said, learned, nodes, ...found } = readLearnedGroups(input, iteration, stage);
  const groups = await addPrompts(input, iteration, found.groups);
  const { compared, scaled, credits } = prepareGroups(input, said, groups);
  const contexts = makeTrainingContexts(
    compared,
    scaled,
    once && credits === null && (nodes !== undefined || mergesContexts(input)),
  );
  const origins: StageMessages['origins'] = credits === null ? new Map() : traceOrigins(said, credits);
  return { said, learned, groups, contexts, nodes: nodes?.upward ?? [], origins };
}

/** A message with the advantage that updates use for it. */
export type AdvantagedMessage = Pick<TrainingMessage, 'message' | 'problem' | 'role' | 'position' | 'context'> & {
  readonly advantage: number;
};

/**
 * Returns the messages of a stage that its updates learn from, for all roles that learn. Their
 * advantages include neither a penalty that shapes advantages nor the messages' weights in the loss.
 */
export function readStageAdvantages(
  input: Omit<StageInput, 'tokenizer'>,
  iteration: number,
  stage: number,
): readonly AdvantagedMessage[] {
  const { said, groups } = readLearnedGroups(input, iteration, stage);
  const { compared, scaled } = prepareGroups(input, said, groups);
  const advantages = makeAdvantageLookup(compared, scaled);
  return compared.flatMap((group) => {
    const own = advantages(group);
    return group.messages
      .filter(({ credit }) => credit !== null)
      .map(({ message, problem, role, position, context }, index) => ({
        message,
        problem,
        role,
        position,
        context,
        advantage: own[index] ?? 0,
      }));
  });
}

/** Returns the groups that are learned from, as their credits are compared and scaled. */
function prepareGroups<Group extends StoredGroup>(
  { config, method, store }: Pick<StageInput, 'config' | 'method' | 'store'>,
  said: readonly TrainingMessage[],
  groups: readonly Group[],
): {
  readonly compared: readonly Group[];
  /** True if their credits become z-scores. */
  readonly scaled: boolean;
  /** The credits of each problem's episodes if advantages are standard scores of them, else null. */
  readonly credits: ReadonlyMap<string, number[]> | null;
} {
  const signals = new Set(
    groups.flatMap(({ messages }) => messages.flatMap(({ problem, credit }) => ((credit ?? 0) === 0 ? [] : [problem]))),
  );
  // Problems without a signal were replaced. If no problem has a signal, all are kept.
  const loud = groups.filter(({ problem }) => signals.has(problem));
  const kept = config.dynamic_sampling && loud.length > 0 ? loud : groups;
  const standard = method.standardised?.(config);
  if (standard !== undefined) {
    const credits = collectEpisodeCredits(store, said);
    return { compared: standardizeGroups(kept, standard, credits), scaled: false, credits };
  }
  const { group_normalise: scaled, normalise_scope: scope } = config.credit;
  const wide = scope === 'published' && method.scaledOver === 'step';
  return { compared: wide ? kept.map((one) => ({ ...one, group: 'step' })) : kept, scaled, credits: null };
}

/**
 * Returns the origins of the credited messages of whole episodes, by their tokens. A credit is the
 * return minus the mean of all G episodes of the problem; times G / (G - 1) it is the return minus the
 * mean of the others.
 */
function traceOrigins(
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

/** Returns the credits of each problem's episodes: those of their first messages. */
function collectEpisodeCredits(store: StoreReader, said: readonly TrainingMessage[]): ReadonlyMap<string, number[]> {
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

/** Returns the groups with standard scores in place of credits (returns minus a problem's number). */
const standardizeGroups = <Group extends StoredGroup>(
  groups: readonly Group[],
  standard: Standardization,
  credits: ReadonlyMap<string, number[]>,
): Group[] =>
  groups.map((group) => {
    const score = standardScore(credits.get(group.problem) ?? [], standard);
    return {
      ...group,
      messages: group.messages.map((one) => ({ ...one, credit: one.credit === null ? null : score(one.credit) })),
    };
  });

/** A stored group, without its prompt. */
type StoredGroup = Omit<LearningGroup, 'prompt' | 'messages'> & {
  readonly problem: string;
  readonly first: TrainingMessage;
  readonly messages: readonly TrainingMessage[];
};

/** Returns true if messages of equal contexts are learned from together. */
const mergesContexts = ({ config, method }: Pick<StageInput, 'config' | 'method'>): boolean =>
  method.compared === 'context' && config.credit.merge_contexts;

/** Returns a stage's messages, and the groups of roles that learn, in the order of storage. */
function readLearnedGroups(
  { run, config, method, store, protocol }: Omit<StageInput, 'tokenizer'>,
  iteration: number,
  stage: number,
): Pick<StageMessages, 'said' | 'learned'> & {
  readonly groups: readonly StoredGroup[];
  readonly nodes: NodesOfTurns | undefined;
} {
  const said = store.trainingMessages(run, iteration, method.estimator(config), stage);
  const learned = said.filter(({ role }) => isLearningRole(config.policies, role));
  const nodes = method.byNode?.(config) === true ? new NodesOfTurns(said, messagesPerTurn(protocol)) : undefined;
  const merged = mergesContexts({ config, method });
  const groups = Map.groupBy(learned, (message) => {
    const { bucket, problem, position, context } = message;
    const place = nodes?.of(message) ?? (merged ? problem : undefined);
    return place === undefined ? String(bucket) : `${place} ${position} ${context}`;
  });
  const stored = [...groups].flatMap(([name, messages]): StoredGroup[] => {
    const [first] = messages;
    if (first === undefined) {
      return [];
    }
    const node = nodes?.of(first);
    const group = method.compared === 'context' ? name : `${node ?? first.problem} ${first.position}`;
    return [{ role: first.role, ...(node !== undefined && { node }), group, messages, problem: first.problem, first }];
  });
  return { said, learned, groups: stored, nodes };
}

/**
 * Adds the tokens of their contexts to groups.
 * @throws C3Error('model') if the tokenizer is a different one
 */
async function addPrompts(
  { run, tokenizer }: Pick<StageInput, 'run' | 'tokenizer'>,
  iteration: number,
  groups: readonly StoredGroup[],
): Promise<(StoredGroup & LearningGroup)[]> {
  const contexts = [...new Set(groups.map(({ first }) => first.context))];
  const prompts = new Map(
    await Promise.all(contexts.map(async (context) => [context, await tokenizer.encode(context)] as const)),
  );
  return groups.map((group) => {
    const { context, promptTokens } = group.first;
    const prompt = prompts.get(context) ?? new Int32Array();
    if (prompt.length !== promptTokens) {
      throw new C3Error(
        'model',
        `A context of step ${iteration} of run ${run} has ${prompt.length} tokens ` +
          `where it had ${promptTokens}; put the model's own tokenizer back.`,
      );
    }
    return { ...group, prompt };
  });
}

type Placed = Pick<TrainingMessage, 'message' | 'parent' | 'problem' | 'position'>;

/**
 * Nodes of rollout trees, each one turn of one branch. A node is named after the message that its turn
 * follows, or after the problem in the first turn.
 */
export class NodesOfTurns {
  /** Every node after those below it; siblings in the order of the messages that they follow. */
  readonly upward: readonly string[];
  private readonly parents: ReadonlyMap<number, Placed>;
  private readonly perTurn: number;

  /**
   * @param said all messages of a step, each with those before it
   * @param perTurn the number of messages of a turn
   */
  constructor(said: readonly Placed[], perTurn: number) {
    this.parents = new Map(said.map((message) => [message.message, message]));
    this.perTurn = perTurn;
    const below = new Map<string, Set<string>>();
    const roots = new Set<string>();
    for (const message of said.toSorted((one, other) => one.message - other.message)) {
      const before = this.before(message);
      if (before === undefined) {
        roots.add(this.of(message));
        continue;
      }
      const above = this.of(before);
      below.set(above, (below.get(above) ?? new Set()).add(this.of(message)));
    }
    const ordered = (node: string): string[] => [...[...(below.get(node) ?? [])].flatMap(ordered), node];
    this.upward = [...roots].flatMap(ordered);
  }

  of(message: Placed): string {
    const before = this.before(message);
    return before === undefined ? `problem ${message.problem}` : `after ${before.message}`;
  }

  /** Returns the last message of the turn before, or undefined in the first turn. */
  private before(message: Placed): Placed | undefined {
    let found: Placed | undefined = message;
    for (let steps = message.position % this.perTurn; steps >= 0 && found !== undefined; steps--) {
      found = found.parent === null ? undefined : this.parents.get(found.parent);
    }
    return found;
  }
}
