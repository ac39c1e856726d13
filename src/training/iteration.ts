/**
 * The sampling part of one iteration: fan out, score, credit as the method says (C3: Algorithm 1, equations 7 to 14),
 * stored as one.
 */
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { EvaluatorBudget } from '../replay/budget.ts';
import { recordSubtree, recordTrainingTree, type RoundRecord, type TreeCreditRule } from '../replay/record.ts';
import type { TreeNode } from '../replay/tree.ts';
import { grow } from '../replay/episodes.ts';
import type { Environments } from '../replay/unfold.ts';
import type { Instance } from '../shared/records/records.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import { runSampling, type RunConfig } from './config/config.ts';
import { requireMeasured } from './measure/measured.ts';
import { stateBefore, storeState } from './state/methodStates.ts';
import type { Method, Rollout, ValueTarget } from './methods/method.ts';
import { callsOfRollouts, methodNamed, rolloutsOf, stagesOf } from './methods/methods.ts';

export interface IterationInput {
  readonly config: RunConfig;
  readonly method: Method;
  readonly instances: readonly Instance[];
  readonly policy: Policy;
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly evaluator: Evaluator;
  readonly store: StoreWriter;
  readonly round: RoundRecord;
  /** 0 at the beginning of a step. */
  readonly stage: number;
  /** False: every result is paid for, also one that is determined by an equal one; to compare with. */
  readonly reuse?: boolean;
  /** Where environments come from; the bundled ones unless given. */
  readonly environments?: Environments;
  readonly signal: AbortSignal;
  /** The value of every message of some trees, or of its state, for methods that take it. */
  readonly valuesOf: (roots: readonly TreeNode[], target: ValueTarget) => Promise<ReadonlyMap<TreeNode, number>>;
  /** Hears how many evaluator calls are about to be made. */
  readonly onBegin: (calls: number) => void;
  /** Stores what belongs to the finished trees, in the transaction that stores them, before their rows. */
  readonly onTree: (roots: readonly TreeNode[]) => void;
}

/**
 * Why a configuration's method cannot sample with a protocol, in one sentence; null where it can, and where nothing is
 * trained.
 */
export function samplingProblem(
  config: RunConfig,
  protocol: Protocol,
  method: Method = methodNamed(config.method),
): string | null {
  if (config.steps === 0) {
    return null;
  }
  // A state is written as the messages of a list of turns.
  if (protocol.rounds !== undefined && method.valueTarget(config) !== null) {
    return `${config.method} with a value head cannot learn the protocol ${protocol.name}, which unfolds in rounds; choose c3, c3_no_replay, c3_full_mean or magrpo.`;
  }
  const stages = stagesOf(method, config, protocol);
  const calls = stages === 1 ? 0 : callsOfRollouts(rolloutsOf(method, config, protocol), protocol);
  if (calls > config.evaluator_budget) {
    return `${config.method} makes up to ${String(calls)} evaluator calls per instance in the ${String(stages)} stages of a step, more than evaluator_budget (${String(config.evaluator_budget)}); raise it.`;
  }
  return method.problem(config, protocol);
}

/**
 * Grows what a method plans for an iteration, or a stage of it, and stores it with buckets, replays, episodes and
 * credits in one transaction.
 * @throws CancelledError; EvaluatorLost; C3Error
 */
export async function sampleIteration(input: IterationInput): Promise<void> {
  const { config, method, protocol, store, round, stage } = input;
  const rollouts = method.plan(config, protocol, stage);
  input.onBegin(input.instances.length * callsOfRollouts(rollouts, protocol));
  const earlier = callsOfRollouts(rolloutsOf(method, config, protocol, stage), protocol);
  const budget = new EvaluatorBudget(input.instances.length * (config.evaluator_budget - earlier));
  const grown: Grown[] = [];
  for (const [number, rollout] of rollouts.entries()) {
    grown.push({ rollout, trees: await growRollout(input, rollout, number, budget) });
  }
  const roots = grown.flatMap(({ trees }) => trees.flat());
  requireMeasured(roots);
  const target = method.valueTarget(config);
  const values = target === null ? new Map<TreeNode, number>() : await input.valuesOf(roots, target);
  const place = { store, run: round.run, method };
  const state = stateBefore(place, round.iteration, config, stage);
  const perInstance = (measured: boolean): TreeNode[][] => {
    const wanted = grown.filter(({ rollout }) => (rollout.measured ?? false) === measured);
    return input.instances.map((_, index) => wanted.flatMap(({ trees }) => trees[index] ?? []));
  };
  const credited = method.credit({
    settings: config,
    stage,
    instances: perInstance(false),
    measured: perInstance(true),
    values,
    state,
  });
  const rule: TreeCreditRule = (_, siblings) => siblings.map((node) => credited.credits.get(node) ?? null);
  store.transaction(() => {
    input.onTree(roots);
    for (const { rollout, trees } of grown) {
      for (const own of trees) {
        if (rollout.measured === true) {
          recordSubtree(store, own, protocol, round);
        } else {
          recordTrainingTree(store, own, protocol, round, rule);
        }
      }
    }
    storeState(store, place, round.iteration, credited.state ?? state, stage);
  });
}

interface Grown {
  readonly rollout: Rollout;
  /** Of each instance, in order. */
  readonly trees: readonly (readonly TreeNode[])[];
}

/** Grows one rollout. @returns the trees of each instance, in order */
async function growRollout(
  input: IterationInput,
  { fanout, commonRandomNumbers }: Rollout,
  number: number,
  budget: EvaluatorBudget,
): Promise<TreeNode[][]> {
  const { config, protocol, policy, instances, signal } = input;
  const step = `iteration:${String(input.round.iteration)}`;
  const scope = input.stage === 0 ? step : `${step}:stage:${String(input.stage)}`;
  const roots = await grow(
    {
      protocol,
      render: input.render,
      policy,
      evaluator: input.evaluator,
      budget,
      sampling: runSampling(config),
      seed: config.seed,
      // No two rollouts share random numbers.
      scope: number === 0 ? scope : `${scope}:rollout:${String(number)}`,
      commonRandomNumbers,
      ...(input.reuse !== undefined && { reuse: input.reuse }),
      ...(input.environments !== undefined && { environments: input.environments }),
    },
    instances.map((instance) => ({ instance, node: null })),
    fanout,
    { signal },
  );
  const perInstance = fanout[0] ?? 1;
  return instances.map((_, index) => roots.slice(index * perInstance, (index + 1) * perInstance));
}
