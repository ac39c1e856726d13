/**
 * The sampling part of one iteration: grows the rollouts, scores them, credits them by the method (C3:
 * Algorithm 1, equations 7 to 14), and stores everything in one transaction.
 */

import type { Problem } from '../domain/problem.ts';
import type { MethodState } from '../domain/step.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { EvaluatorBudget } from '../replay/budget.ts';
import { growEpisodes, growSpine } from '../replay/episodes.ts';
import type { TreeSettings } from '../replay/grow.ts';
import { growJoint } from '../replay/growJoint.ts';
import { recordSubtree, recordTrainingTree, type RoundRecord, type TreeCreditRule } from '../replay/recordTree.ts';
import { scoreVotes } from '../replay/scoredVotes.ts';
import { countCalls, type TreeMessage } from '../replay/tree.ts';
import type { Environments } from '../replay/unfold.ts';
import type { Vote } from '../replay/votes.ts';
import { growWithoutFirst } from '../replay/withoutFirst.ts';
import { isLearningRole } from '../shared/rolePolicies.ts';
import type { StoreWriter } from '../store/types.ts';
import { requireOccurrence, type Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import { countMostMessages } from '../team/rounds.ts';
import { getRunSampling, type RunConfig } from './config/config.ts';
import { requireMeasured } from './measure/measured.ts';
import type { Credited, Method, Rollout, SampledStep, Spread, ValueTarget } from './methods/method.ts';
import { countRolloutCalls, getMethod, listRollouts, countStages, countMostVoteCalls } from './methods/methods.ts';
import { measureSpread } from './methods/spine.ts';
import { readStateBefore, storeState } from './state/methodStates.ts';

export interface IterationInput {
  readonly config: RunConfig;
  readonly method: Method;
  readonly problems: readonly Problem[];
  /** The problems that come next, for `dynamic_sampling`. */
  readonly further?: readonly Problem[];
  readonly policy: Policy;
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly evaluator: Evaluator;
  readonly store: StoreWriter;
  readonly round: RoundRecord;
  /** The stage of the step, from 0. */
  readonly stage: number;
  /** False makes every evaluator call, even with a determined result; for comparisons. */
  readonly reuse?: boolean;
  /** The source of environments; the bundled ones by default. */
  readonly environments?: Environments;
  readonly signal: AbortSignal;
  /** Returns the values of the messages of some trees, or of their states. */
  readonly valuesOf: (roots: readonly TreeMessage[], target: ValueTarget) => Promise<ReadonlyMap<TreeMessage, number>>;
  /** Receives the number of evaluator calls that are about to be made. */
  readonly onBegin: (calls: number) => void;
  /**
   * Stores the data that belongs to the finished trees, in the same transaction and before their rows.
   * `voteCalls` counts the calls that scored the answers of votes.
   */
  readonly onTree: (roots: readonly TreeMessage[], voteCalls: number) => void;
}

/**
 * Returns the reason why a configuration's method cannot sample with a protocol, in one sentence.
 * Returns null if it can, or if nothing is trained.
 */
export function findSamplingFault(
  config: RunConfig,
  protocol: Protocol,
  method: Method = getMethod(config.method),
): string | null {
  if (config.steps === 0) {
    return null;
  }
  // A state is written as the messages of a list of turns.
  if (protocol.rounds !== undefined && method.valueTarget(config) !== null) {
    return `${config.method} with a value head cannot learn the protocol ${protocol.name}, which unfolds in rounds; choose c3, c3_no_replay, c3_full_mean or magrpo.`;
  }
  const stages = countStages(method, config, protocol);
  const calls = stages === 1 ? 0 : countRolloutCalls(listRollouts(method, config, protocol), protocol);
  if (calls > config.evaluator_budget) {
    return `${config.method} makes up to ${calls} evaluator calls per problem in the ${stages} stages of a step, more than evaluator_budget (${config.evaluator_budget}); raise it.`;
  }
  if (config.dynamic_sampling && stages > 1) {
    return `${config.method} samples in ${stages} stages, for the same problems in each: dynamic_sampling cannot replace any; turn it off.`;
  }
  return method.fault(config, protocol);
}

/**
 * Grows the rollouts that a method plans for an iteration, or for a stage of it, and stores them with
 * buckets, replays, episodes and credits in one transaction. With `dynamic_sampling`, further problems
 * are sampled for those without a signal.
 * @throws CancelledError; EvaluatorLost; C3Error
 */
export async function sampleIteration(input: IterationInput): Promise<void> {
  const { config, method, protocol, store, round, stage } = input;
  const place = { store, run: round.run, method, config };
  const state = readStateBefore(place, round.iteration, stage);
  const rollouts = method.plan(config, protocol, stage, { spread: readSpreadBefore(input), state });
  const { batches, credited } = await sampleBatches(input, rollouts, state);
  const rule: TreeCreditRule = (_, siblings) => siblings.map((message) => credited.credits.get(message) ?? null);
  store.transaction(() => {
    input.onTree(
      batches.flatMap(({ roots }) => roots),
      batches.reduce((sum, { voteCalls }) => sum + voteCalls, 0),
    );
    for (const { rollout, trees } of batches.flatMap(({ grown }) => grown)) {
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

interface Batch {
  readonly problems: readonly Problem[];
  readonly grown: readonly Grown[];
  readonly roots: readonly TreeMessage[];
  readonly values: ReadonlyMap<TreeMessage, number>;
  /** Absent if the method counts no votes. */
  readonly votes?: ReadonlyMap<TreeMessage, Vote>;
  readonly voteCalls: number;
}

/**
 * Samples the batches of an iteration and credits all their messages. Implements DAPO's dynamic
 * sampling (Yu et al. 2025) within the budget of the step: while fewer problems than requested have a
 * signal, more are sampled, paid for by the evaluator calls that were saved because their results were
 * determined.
 */
async function sampleBatches(
  input: IterationInput,
  rollouts: readonly Rollout[],
  state: MethodState,
): Promise<{ readonly batches: readonly Batch[]; readonly credited: Credited }> {
  const { config, method, protocol, stage, problems, further = [] } = input;
  const calls = countRolloutCalls(rollouts, protocol);
  // The largest number of calls that a crash could lose.
  const most = calls + countMostVoteCalls(method, rollouts, protocol);
  const choice = rollouts[0]?.choice;
  const chosen = choice === undefined ? {} : { choice };
  const earlier = countRolloutCalls(listRollouts(method, config, protocol, stage), protocol);
  const perProblem = config.evaluator_budget - earlier;
  input.onBegin(problems.length * most);
  const batches = [await sampleBatch(input, rollouts, problems, perProblem)];
  for (let next = 0; ;) {
    const credited = method.credit({ settings: config, stage, ...collectCreditedTrees(batches), state, ...chosen });
    const missing = problems.length - countProblemsWithSignal(input, batches, credited);
    const left = problems.length * perProblem - countCallsMade(batches);
    const count = config.dynamic_sampling ? Math.min(missing, Math.floor(left / Math.max(1, calls))) : 0;
    const more = further.slice(next, next + Math.max(0, count));
    if (more.length === 0) {
      return { batches, credited };
    }
    next += more.length;
    input.onBegin((problems.length + next) * most);
    batches.push(await sampleBatch(input, rollouts, more, calls));
  }
}

async function sampleBatch(
  input: IterationInput,
  rollouts: readonly Rollout[],
  problems: readonly Problem[],
  callsPerProblem: number,
): Promise<Batch> {
  const budget = new EvaluatorBudget(problems.length * callsPerProblem);
  const grown: Grown[] = [];
  for (const [number, rollout] of rollouts.entries()) {
    grown.push({ rollout, trees: await growRollout({ ...input, problems }, rollout, number, budget) });
  }
  const roots = grown.flatMap(({ trees }) => trees.flat());
  requireMeasured(roots);
  const target = input.method.valueTarget(input.config);
  const values = target === null ? new Map<TreeMessage, number>() : await input.valuesOf(roots, target);
  if (input.method.countsVotes?.(input.protocol) !== true) {
    return { problems, grown, roots, values, voteCalls: 0 };
  }
  const { votes, calls: voteCalls } = await scoreVotes(roots, input, input.signal);
  return { problems, grown, roots, values, votes, voteCalls };
}

function collectCreditedTrees(
  batches: readonly Batch[],
): Pick<SampledStep, 'problems' | 'measured' | 'values' | 'votes'> {
  const perProblem = (measured: boolean): TreeMessage[][] =>
    batches.flatMap(({ problems, grown }) => {
      const wanted = grown.filter(({ rollout }) => (rollout.measured ?? false) === measured);
      return problems.map((_, index) => wanted.flatMap(({ trees }) => trees[index] ?? []));
    });
  const votes = batches.flatMap((batch) => batch.votes ?? []);
  return {
    problems: perProblem(false),
    measured: perProblem(true),
    values: new Map(batches.flatMap(({ values }) => [...values])),
    ...(votes.length > 0 && { votes: new Map(votes.flatMap((one) => [...one])) }),
  };
}

/** Counts the problems with a nonzero credit on a message that is learned from. */
function countProblemsWithSignal(
  { config: { policies }, protocol }: IterationInput,
  batches: readonly Batch[],
  { credits }: Credited,
): number {
  const found = new Set<string>();
  for (const [{ problem, position }, { value }] of credits) {
    if (value !== 0 && isLearningRole(policies, requireOccurrence(protocol, position).role)) {
      found.add(problem.uidSha);
    }
  }
  return batches.flatMap(({ problems }) => problems).filter(({ uidSha }) => found.has(uidSha)).length;
}

const countCallsMade = (batches: readonly Batch[]): number =>
  batches.flatMap(({ roots }) => roots).reduce((sum, root) => sum + countCalls(root), 0);

/**
 * Returns the spread of returns at each position in the step before, or null if the method does not
 * plan by it. It is read from the store, so a step after an interruption gets the same spread.
 */
function readSpreadBefore({ config, method, protocol, store, round, stage }: IterationInput): Spread | null {
  if (config.shape !== 'spine_rho' || stage > 0 || round.iteration === 1) {
    return null;
  }
  const messages = store.trainingMessages(round.run, round.iteration - 1, method.estimator(config));
  return measureSpread(messages, countMostMessages(protocol));
}

interface Grown {
  readonly rollout: Rollout;
  /** The trees of each problem, in order. */
  readonly trees: readonly (readonly TreeMessage[])[];
}

/**
 * Grows one rollout.
 * @returns the trees of each problem, in order
 */
async function growRollout(
  input: IterationInput,
  { fanout, shape = 'nested', joint, commonRandomNumbers, unique, withoutFirst, sharesDraws }: Rollout,
  number: number,
  budget: EvaluatorBudget,
): Promise<TreeMessage[][]> {
  const { config, protocol, policy, problems, signal } = input;
  const step = `iteration:${input.round.iteration}`;
  const scope = input.stage === 0 ? step : `${step}:stage:${input.stage}`;
  const settings: TreeSettings = {
    protocol,
    render: input.render,
    policy,
    evaluator: input.evaluator,
    budget,
    sampling: getRunSampling(config),
    seed: config.seed,
    // Rollouts share random numbers only if a method asks for it.
    scope: number === 0 || sharesDraws === true ? scope : `${scope}:rollout:${number}`,
    commonRandomNumbers,
    ...(unique !== undefined && { unique }),
    ...(input.reuse !== undefined && { reuse: input.reuse }),
    ...(input.environments !== undefined && { environments: input.environments }),
  };
  if (withoutFirst !== undefined) {
    const count = fanout.reduce((product, one) => product * one, 1);
    const solo = { count, reading: withoutFirst, apart: sharesDraws === true };
    return growWithoutFirst(settings, problems, solo, { signal });
  }
  const starts = problems.map((problem) => ({ problem, message: null }));
  const roots =
    joint === undefined
      ? await (shape === 'spine' ? growSpine : growEpisodes)(settings, starts, fanout, { signal })
      : await growJoint(settings, starts, joint, { signal });
  const perProblem = fanout[0] ?? 1;
  return problems.map((_, index) => roots.slice(index * perProblem, (index + 1) * perProblem));
}
