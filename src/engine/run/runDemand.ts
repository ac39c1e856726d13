/** Computes the demand of a run on its models: the lengths of its messages, and its calls. */

import type { Tokenizer } from '../../policy/tokenizer.ts';
import { findRoleSampling } from '../../replay/grow.ts';
import { planMemory, type MemoryDemand } from '../../runtime/memoryPlan.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { findTraits, type Provider } from '../../shared/devices.ts';
import type { MemoryItem } from '../../shared/models.ts';
import type { Occurrence, Protocol } from '../../team/protocol.ts';
import { renderContext, type Renderer } from '../../team/render.ts';
import { countTreeMessages } from '../../team/rounds.ts';
import { getRunAdapter, getRunSampling, type RunConfig } from '../../training/config/config.ts';
import { listPlannedRollouts } from '../../training/methods/methods.ts';
import { findExactKey } from '../../training/penalty.ts';
import type { RunData } from '../recipe/recipe.ts';
import type { PreparedRole } from './prepareRoles.ts';

/** The inputs of a run besides its configuration and its model. */
export interface RunInputs {
  readonly protocol: Protocol;
  readonly tokenizer: Tokenizer;
  readonly render: Renderer;
  readonly data: RunData;
  /** Roles with weights of their own. */
  readonly roles?: readonly PreparedRole[];
}

/** The inputs of a memory plan besides the configuration. */
export interface PlanInputs extends RunInputs {
  readonly model: TransformerConfig;
  readonly provider: Provider;
}

/** Longest questions by characters to count in tokens, because the order by tokens may differ. */
const COUNTED = 4;
/** Returns the tokens of the longest context at each position, without any messages. */
export function countLongestPrompts({
  protocol,
  tokenizer,
  render,
  data,
  roles = [],
}: RunInputs): Promise<readonly number[]> {
  const others = new Map(roles.map(({ role, model }) => [role, model?.tokenizer]));
  const longest = [...data.train, ...data.evaluation]
    .map(({ question }) => question)
    .sort((a, b) => b.length - a.length)
    .slice(0, COUNTED);
  const tokensOf = async ({ position, role, ancestors }: Occurrence, question: string): Promise<number> => {
    const context = await render(
      renderContext(protocol, position, question, new Map(ancestors.map((ancestor) => [ancestor, '']))),
      role,
    );
    return (await (others.get(role) ?? tokenizer).encode(context)).length;
  };
  return Promise.all(
    protocol.occurrences.map(async (occurrence) =>
      Math.max(1, ...(await Promise.all(longest.map((question) => tokensOf(occurrence, question))))),
    ),
  );
}

/**
 * Returns the tokens of the messages of an episode and of their contexts, with the longest question
 * and every message at half of its limit.
 */
export async function estimateMessageLengths(
  config: RunConfig,
  inputs: RunInputs & Pick<PlanInputs, 'model'>,
): Promise<readonly { readonly promptTokens: number; readonly newTokens: number }[]> {
  const { protocol, model } = inputs;
  const prompts = await countLongestPrompts(inputs);
  const half = (position: number): number =>
    Math.ceil(findRoleSampling({ protocol, sampling: getRunSampling(config) }, position).maxNewTokens / 2);
  return protocol.occurrences.map(({ position, ancestors }) => {
    const context = (prompts[position] ?? 1) + ancestors.reduce((total, ancestor) => total + half(ancestor), 0);
    return { promptTokens: Math.min(context, model.maxPositions), newTokens: half(position) };
  });
}

/** The longest context and the longest message of a role, in tokens. */
interface MessageLength {
  readonly promptTokens: number;
  readonly newTokens: number;
}

/** The calls of one model by a configuration. */
interface ModelCalls {
  readonly evaluated: readonly ({ readonly rows: number; readonly prompts: number } & MessageLength)[];
  /** Contexts that a step samples and trains on, and the number of messages in each. */
  readonly positions: readonly ({ readonly contexts: number; readonly messages: number } & MessageLength)[];
}

/** @param speaks returns true if the model answers for a role */
function countModelCalls(
  config: RunConfig,
  { model, protocol, data }: PlanInputs,
  prompts: readonly number[],
  speaks: (role: string) => boolean,
): ModelCalls {
  const sampling = getRunSampling(config);
  const newTokens = protocol.occurrences.map(
    ({ position }) => findRoleSampling({ protocol, sampling }, position).maxNewTokens,
  );
  const { samples, batch } = config.evaluation;
  const evaluated = Math.min(Math.max(samples, batch), data.evaluation.length * samples);
  const lengths = protocol.occurrences.map(({ position, ancestors }): MessageLength => {
    const fresh = newTokens[position] ?? sampling.maxNewTokens;
    const context =
      (prompts[position] ?? 1) + ancestors.reduce((total, ancestor) => total + (newTokens[ancestor] ?? 0), 0);
    return { promptTokens: Math.max(1, Math.min(context, model.maxPositions - fresh)), newTokens: fresh };
  });
  const own = <Value>(values: readonly Value[]): Value[] =>
    values.filter((_, level) => speaks(protocol.occurrences[level]?.role ?? ''));
  const problems = Math.min(config.instances_per_step, data.train.length);
  const positions = (config.steps > 0 ? listPlannedRollouts(config, protocol) : []).flatMap(({ fanout, shape }) => {
    const levels = countTreeMessages(fanout, shape ?? 'nested', lengths.length);
    const found = lengths.map((length, level) => {
      // Most contexts of a spine have one message.
      const messages = shape === 'spine' && level > 0 ? 1 : (fanout[level] ?? 1);
      return { contexts: (problems * (levels[level] ?? 1)) / messages, messages, ...length };
    });
    return own(found);
  });
  return {
    evaluated: evaluated > 0 ? own(lengths).map((length) => ({ rows: evaluated, prompts: evaluated, ...length })) : [],
    positions,
  };
}

function toGenerationDemand(
  evaluated: ModelCalls['evaluated'],
  positions: ModelCalls['positions'],
): MemoryDemand['generation'] {
  return [
    ...evaluated,
    ...positions.map(({ contexts, messages, ...length }) => ({
      rows: contexts * messages,
      prompts: contexts,
      ...length,
    })),
  ].filter(({ rows }) => rows > 0);
}

/** Returns the highest demand on the runtime, with every message and context at its limit. */
export function estimateDemand(config: RunConfig, inputs: PlanInputs, prompts: readonly number[]): MemoryDemand {
  const { model, protocol, provider, roles = [] } = inputs;
  const apart = new Set(roles.filter(needsOwnModel).map(({ role }) => role));
  const { evaluated, positions } = countModelCalls(config, inputs, prompts, (role) => !apart.has(role));
  const start = getRunAdapter(config, protocol);
  const { micro_batch_tokens: microBatchTokens, recompute } = config.memory;
  return {
    config: model,
    precision: config.device.precision,
    accelerated: findTraits({ provider }).accelerator,
    generation: toGenerationDemand(evaluated, positions),
    training:
      config.steps > 0
        ? {
            adapter: start?.settings ?? null,
            adapters: start?.roles?.length ?? 1,
            microBatchTokens,
            recompute,
            ...(findExactKey(config) !== null && { exact: true }),
            contexts: positions,
          }
        : null,
  };
}

/** Returns true if a role needs a model of its own: another model, or the run's model loaded again. */
const needsOwnModel = ({ model, adapter, earlier }: PreparedRole): boolean =>
  model !== null || adapter !== null || earlier !== null;

/** Returns the memory items of weights besides the run's own, and of generating with them. */
export function planRoleItems(config: RunConfig, inputs: PlanInputs, prompts: readonly number[]): MemoryItem[] {
  const { roles = [], model: own, provider } = inputs;
  return roles.filter(needsOwnModel).flatMap((prepared) => {
    const model = prepared.model?.config ?? own;
    const { evaluated, positions } = countModelCalls(
      config,
      { ...inputs, model },
      prompts,
      (role) => role === prepared.role,
    );
    const { precision } = config.device;
    const demand: MemoryDemand = {
      config: model,
      precision,
      accelerated: findTraits({ provider }).accelerator,
      generation: toGenerationDemand(evaluated, positions),
      training: null,
    };
    // The first item is the program, which counts only once.
    const [, ...items] = planMemory(demand, { host: null, device: null }).items;
    return items.map((item) => ({ ...item, name: `${prepared.role}: ${item.name}`, advice: null }));
  });
}
