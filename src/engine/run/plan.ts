/** Plans a run before it starts: its memory with advice, and the budget that its configuration allows. */

import { evaluationTimes } from '../../domain/evaluation.ts';
import { MOST_PROBES } from '../../policy/endpoint/probe.ts';
import { readRendering } from '../../policy/rendering.ts';
import { findRoleSampling } from '../../replay/grow.ts';
import { LEAST_CACHE_BYTES } from '../../runtime/generate/bounds.ts';
import {
  availableCacheBytes,
  findLackingPlace,
  planMemory,
  listSavings,
  type AvailableMemory,
  type Lever,
  type MemoryDemand,
} from '../../runtime/memoryPlan.ts';
import { loadConfig } from '../../runtime/model/model.ts';
import { resolveDevice } from '../../runtime/provider/device.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { DEFAULT_PROVIDER } from '../../shared/devices.ts';
import { NOTHING_SPENT } from '../../shared/endpointCost.ts';
import type { MemoryPlace, MemoryPlan, RunBudget, RunPlan, WorkCost } from '../../shared/models.ts';
import { findCapabilities } from '../../shared/rolePolicies.ts';
import { formatBytes } from '../../shared/text/sizes.ts';
import type { TimeEstimate } from '../../shared/text/times.ts';
import type { Protocol } from '../../team/protocol.ts';
import { createTeamRenderer } from '../../team/render.ts';
import { countFanoutCalls, countMostMessages, countTreeMessages } from '../../team/rounds.ts';
import { configSchema, getRunSampling, type RunConfig } from '../../training/config/config.ts';
import { describeTree } from '../../training/methods/joint.ts';
import type { Rollout } from '../../training/methods/method.ts';
import { getMethod, listPlannedRollouts, countMostVoteCalls } from '../../training/methods/methods.ts';
import { checkScripts } from '../../training/policies.ts';
import { listRunProblems } from '../../training/room.ts';
import { findAvailableMemory, toMemoryLimit } from '../machine/machineMemory.ts';
import { probeProvider } from '../machine/probing.ts';
import { computeEndpointCosts, computeJudgeCosts } from '../models/endpointCost.ts';
import { computeTextsFingerprint } from '../recipe/fingerprint.ts';
import { MAX_LABELS } from '../recipe/judgeLabels.ts';
import { loadData, parseRecipeProtocol, type Recipe, type RunData } from '../recipe/recipe.ts';
import { prepareBeginning } from './prepareBeginning.ts';
import { prepareRoles, listRoleRenderers, type RunSources } from './prepareRoles.ts';
import { estimateDemand, countLongestPrompts, planRoleItems, type PlanInputs, type RunInputs } from './runDemand.ts';
import { countStage0Work } from './time/estimate.ts';

/** Share of the remaining memory for the key-value cache, because logits also grow with the rows. */
const LEFT_SHARE = 0.25;
/** Values that advice tries, from a small to a large change. */
const SMALLER_MICRO_BATCHES = [1024, 512, 256];
const SMALLER_EVALUATIONS = [128, 64, 32, 8];
const SMALLER_SHARES = [2, 4, 8];
const FEWEST_NEW_TOKENS = 16;
const ADVISED_RANK = 16;

/** The memory plan of a run. */
interface RunMemory extends MemoryPlan {
  /** Most bytes of the key-value cache of a call. */
  readonly cacheBytes: number;
}

/**
 * Plans a run before it starts.
 * @param sources provide the tokenizer, the rendering, and snapshots of earlier runs
 * @param timeOf estimates the time of the run; called only if the memory is sufficient
 * @throws C3Error, as starting it would, if configuration, data or tokenizer cannot be used
 */
export async function planRun(
  recipe: Recipe,
  { texts, earlier }: RunSources,
  timeOf: (inputs: RunInputs) => Promise<TimeEstimate | null>,
  signal: AbortSignal = NEVER,
): Promise<RunPlan> {
  const { config, modelFolder } = recipe;
  const [tokenizer, data, protocol] = [
    await texts.tokenizer(modelFolder, signal),
    await loadData(recipe),
    parseRecipeProtocol(recipe),
  ];
  checkScripts(config, protocol, listRunProblems(config, data));
  const rendering = await readRendering(modelFolder, tokenizer, config.chat);
  const own = await computeTextsFingerprint(modelFolder, rendering);
  const roles = await prepareRoles(texts, { recipe, protocol, own, find: earlier, stored: null, signal });
  await prepareBeginning(recipe, {
    texts,
    protocol,
    fingerprint: own,
    rendering,
    tokenizer,
    data,
    find: earlier,
    signal,
  });
  const render = createTeamRenderer(texts.renderer(modelFolder, rendering, signal), listRoleRenderers(roles));
  const inputs = { protocol, tokenizer, render, data, roles };
  const memory = await planRunMemory(recipe, inputs);
  return {
    memory,
    budget: countRunBudget(config, protocol, data),
    seconds: findLackingPlace(memory) === null ? await timeOf(inputs) : null,
  };
}

/**
 * Plans the memory of a run on this machine and its device.
 * @throws C3Error('model') if config.json cannot be used
 */
export async function planRunMemory({ config, modelFolder }: Recipe, inputs: RunInputs): Promise<RunMemory> {
  const model = await loadConfig(modelFolder);
  const { settings } = await resolveDevice(config.device.provider, config.device.threads, probeProvider);
  const { provider = DEFAULT_PROVIDER } = settings;
  return planMemoryFor(
    config,
    { ...inputs, model, provider },
    await findAvailableMemory(provider, toMemoryLimit(config.memory)),
  );
}

/** Plans the memory of a run, with advice if it does not fit. */
export async function planMemoryFor(
  config: RunConfig,
  inputs: PlanInputs,
  available: AvailableMemory,
): Promise<RunMemory> {
  const prompts = await countLongestPrompts(inputs);
  const demand = (changed: RunConfig): MemoryDemand => estimateDemand(changed, inputs, prompts);
  const others = planRoleItems(config, inputs, prompts);
  // Memory of the other roles is not available for the run's own model.
  const taken = (place: MemoryPlace): number =>
    others.reduce((total, item) => (item.place === place ? total + item.bytes : total), 0);
  const left: AvailableMemory = {
    host: available.host === null ? null : available.host - taken('host'),
    device: available.device === null ? null : available.device - taken('device'),
  };
  const own = demand(config);
  const smallest = planMemory(own, left);
  const larger = { ...own, cacheBytes: availableCacheBytes(smallest, own.accelerated, LEFT_SHARE) };
  const roomy = planMemory(larger, left);
  // A larger cache must not make a run fail that fits with the smallest one.
  const [plan, cacheBytes] =
    findLackingPlace(roomy) === null ? [roomy, larger.cacheBytes] : [smallest, LEAST_CACHE_BYTES];
  return {
    cacheBytes,
    items: [...plan.items, ...others],
    totals: plan.totals.map((total) => ({
      ...total,
      bytes: total.bytes + taken(total.place),
      available: available[total.place],
    })),
    advice: findLackingPlace(plan) === null ? plan.advice : findMemoryAdvice(config, demand, left),
  };
}

/**
 * Describes why a plan does not fit: the memory needed, the memory available, and the first change
 * to make. Returns null if it fits or the available memory is unknown.
 */
export function describeShortage(plan: MemoryPlan): string | null {
  const short = findLackingPlace(plan);
  if (short === null) {
    return null;
  }
  const advice = plan.advice[0] ?? 'Choose a smaller model.';
  const where = short.place === 'host' ? 'of memory' : "of the accelerator's memory";
  const what = `The run needs about ${formatBytes(short.bytes)} ${where}, and ${formatBytes(short.available ?? 0)} are available`;
  return `${what}. ${advice} \`c3 plan\` shows the whole plan; memory.limit_gb overrides the available amount.`;
}

/** Formats a plan in one line: `Memory: about 0.9 GB of 21 GB`. */
export function formatMemoryLine({ totals }: MemoryPlan): string {
  const one = ({ place, bytes, available }: MemoryPlan['totals'][number]): string =>
    `about ${formatBytes(bytes)} of ${available === null ? 'an unknown amount' : formatBytes(available)}${place === 'device' ? ' on the accelerator' : totals.length > 1 ? ' on the host' : ''}`;
  return `Memory: ${totals.map(one).join(', ')}`;
}

/** Returns the most evaluator calls, messages and tokens that a run's configuration allows. */
export function countRunBudget(config: RunConfig, protocol: Protocol, { train, evaluation }: RunData): RunBudget {
  const problems = Math.min(config.instances_per_step, train.length);
  const rollouts = config.steps === 0 ? [] : listPlannedRollouts(config, protocol);
  const votes = problems * countMostVoteCalls(getMethod(config.method), rollouts, protocol);
  const sampled = sumCosts([
    countEpisodesCost(config, protocol, 0, { fanout: [] }),
    ...rollouts.map((rollout) => countEpisodesCost(config, protocol, problems, rollout)),
  ]);
  const perStep = { ...sampled, evaluatorCalls: sampled.evaluatorCalls + votes };
  // Each evaluation has one greedy episode per question, and the samples.
  const perEvaluation = countEpisodesCost(config, protocol, evaluation.length, {
    fanout: [1 + config.evaluation.samples],
  });
  const evaluations = evaluationTimes({ steps: config.steps, ...config.evaluation });
  const stage0 = countStage0Cost(config, protocol, evaluation.length);
  const total = sumCosts([
    multiplyCost(perStep, config.steps),
    multiplyCost(perEvaluation, evaluations),
    ...(stage0 === null ? [] : [stage0]),
  ]);
  const tree = config.steps > 0 && config.magrpo !== null ? { tree: describeTree(config.magrpo, protocol) } : {};
  const bytes = listRunProblems(config, { train, evaluation }).reduce(
    (most, { question }) => Math.max(most, Buffer.byteLength(question)),
    0,
  );
  const team = { protocol, policies: config.policies, sampling: getRunSampling(config), spent: () => NOTHING_SPENT };
  const endpoints = [
    ...computeEndpointCosts(
      team,
      bytes,
      countMostMessages(protocol),
      (role) => (total.decisions[role] ?? 0) + MOST_PROBES,
    ),
    // The judge answers twice for every label before the run.
    ...computeJudgeCosts(config.scorer, team, bytes, total.evaluatorCalls + 2 * MAX_LABELS),
  ];
  return {
    steps: config.steps,
    evaluations,
    perStep,
    perEvaluation,
    ...(stage0 !== null && { stage0 }),
    total,
    ...tree,
    ...(votes > 0 && { votes }),
    ...(endpoints.length > 0 && { endpoints }),
  };
}

/** Returns the cost of replacing a policy: probe episodes, and a greedy evaluation of each team. */
function countStage0Cost(config: RunConfig, protocol: Protocol, evaluated: number): WorkCost | null {
  const work = countStage0Work(config, evaluated);
  if (work === null) {
    return null;
  }
  const probed = countEpisodesCost(config, protocol, work.probed, { fanout: [] });
  return sumCosts([
    protocol.rounds === undefined ? { ...probed, evaluatorCalls: 0 } : probed,
    countEpisodesCost(config, protocol, work.episodes, { fanout: [] }),
  ]);
}

/** Returns the cost of episodes that branch by `fanout`. Missing numbers are 1. */
function countEpisodesCost(
  config: RunConfig,
  protocol: Protocol,
  problems: number,
  { fanout, shape = 'nested', withoutFirst }: Pick<Rollout, 'fanout' | 'shape' | 'withoutFirst'>,
): WorkCost {
  const sampling = getRunSampling(config);
  const spoken = new Map<string, number>();
  const levels = countTreeMessages(fanout, shape, protocol.occurrences.length);
  let tokens = 0;
  protocol.occurrences.forEach(({ role, position }, level) => {
    const messages = problems * (levels[level] ?? 1);
    spoken.set(role, (spoken.get(role) ?? 0) + messages);
    // Messages that no model generates cost no tokens.
    if (findCapabilities(config.policies, role).tokens) {
      // An empty message in place of the first one has only an end token.
      const isEmpty = level === 0 && withoutFirst !== undefined;
      tokens += messages * (isEmpty ? 1 : findRoleSampling({ protocol, sampling }, position).maxNewTokens);
    }
  });
  return {
    evaluatorCalls: problems * countFanoutCalls(protocol, fanout, shape),
    decisions: Object.fromEntries(spoken),
    tokens,
  };
}

const multiplyCost = ({ evaluatorCalls, decisions, tokens }: WorkCost, count: number): WorkCost => ({
  evaluatorCalls: count * evaluatorCalls,
  decisions: Object.fromEntries(Object.entries(decisions).map(([role, messages]) => [role, count * messages])),
  tokens: count * tokens,
});

const sumCosts = (costs: readonly WorkCost[]): WorkCost =>
  costs.reduce((total, cost) => ({
    evaluatorCalls: total.evaluatorCalls + cost.evaluatorCalls,
    decisions: Object.fromEntries(
      Object.entries(cost.decisions).map(([role, messages]) => [role, (total.decisions[role] ?? 0) + messages]),
    ),
    tokens: total.tokens + cost.tokens,
  }));

/** Returns advice for a plan that does not fit, the most effective change first. */
function findMemoryAdvice(
  config: RunConfig,
  demand: (config: RunConfig) => MemoryDemand,
  available: AvailableMemory,
): readonly string[] {
  const changes = listMemoryChanges(config);
  const levers = changes.map((steps): Lever => ({
    changes: steps.map(({ setting, change }) => ({ setting, demand: demand(change(config)) })),
  }));
  const found = listSavings(demand(config), available, levers);
  const sentences = found.map(
    ({ setting, bytes, enough }) => `${setting} saves ${formatBytes(bytes)}${enough ? ', which is enough' : ''}.`,
  );
  if (found.some(({ enough }) => enough)) {
    return sentences;
  }
  const all = changes.reduce((changed, steps) => steps.at(-1)?.change(changed) ?? changed, config);
  const left = findLackingPlace(planMemory(demand(all), available));
  if (left === null) {
    return [...sentences, 'Together they are enough.'];
  }
  const smallest = `Even with all settings at their smallest the run needs ${formatBytes(left.bytes)}: choose a smaller model.`;
  // The advice that is enough comes first.
  return [smallest, ...sentences];
}

interface Change {
  /** Text of the setting in the configuration. */
  readonly setting: string;
  readonly change: (config: RunConfig) => RunConfig;
}

const withSmallAdapter = (config: RunConfig): RunConfig => ({
  ...config,
  adapter: configSchema.parse({ adapter: { rank: ADVISED_RANK } }).adapter,
});
const withHalfWeights = (config: RunConfig): RunConfig => ({
  ...config,
  device: { ...config.device, precision: 'float16' },
});

/** Lists the settings that reduce memory, each from a small to a large change. */
function listMemoryChanges(config: RunConfig): readonly (readonly Change[])[] {
  const { adapter, memory, sampling, evaluation } = config;
  const training = config.steps > 0;
  const shares = (value: number, least: number): number[] =>
    SMALLER_SHARES.map((share) => Math.floor(value / share)).filter((smaller) => smaller >= least);
  return [
    training && adapter !== null && adapter.rank > ADVISED_RANK
      ? [
          {
            setting: `adapter.rank: ${ADVISED_RANK}`,
            change: (old) => ({ ...old, adapter: { ...adapter, rank: ADVISED_RANK } }),
          },
        ]
      : [],
    training && adapter === null
      ? [
          { setting: `adapter: {rank: ${ADVISED_RANK}} instead of full training`, change: withSmallAdapter },
          {
            setting: `adapter: {rank: ${ADVISED_RANK}} with device.precision: float16 instead of full training`,
            change: (old) => withHalfWeights(withSmallAdapter(old)),
          },
        ]
      : [],
    config.device.precision === 'float32' && (adapter !== null || !training)
      ? [{ setting: 'device.precision: float16', change: withHalfWeights }]
      : [],
    training && !memory.recompute
      ? [
          {
            setting: 'memory.recompute: true',
            change: (old) => ({ ...old, memory: { ...old.memory, recompute: true } }),
          },
        ]
      : [],
    !training
      ? []
      : SMALLER_MICRO_BATCHES.filter((slots) => slots < memory.micro_batch_tokens).map((slots) => ({
          setting: `memory.micro_batch_tokens: ${slots}`,
          change: (old: RunConfig) => ({ ...old, memory: { ...old.memory, micro_batch_tokens: slots } }),
        })),
    shares(sampling.max_new_tokens, FEWEST_NEW_TOKENS).map((tokens) => ({
      setting: `sampling.max_new_tokens: ${tokens}`,
      change: (old: RunConfig) => ({ ...old, sampling: { ...old.sampling, max_new_tokens: tokens } }),
    })),
    SMALLER_EVALUATIONS.filter((batch) => batch < evaluation.batch).map((batch) => ({
      setting: `evaluation.batch: ${batch}`,
      change: (old: RunConfig) => ({ ...old, evaluation: { ...old.evaluation, batch } }),
    })),
    training
      ? shares(config.instances_per_step, 1).map((problems) => ({
          setting: `instances_per_step: ${problems}`,
          change: (old: RunConfig) => ({ ...old, instances_per_step: problems }),
        }))
      : [],
  ];
}
