/**
 * MAGRPO's rollout tree (reference sections 2 to 4). At a node of the tree each of N roles samples G
 * messages; with `align` the node has G joint actions, with `cross` G^N. With the reward r_j of joint
 * action j, scaled and shifted as configured, and the nodes that continue it:
 *
 *   R_j = r_j + discount * mean over the joint actions i of its child of R_i        or r_j without a child
 *   S_g = R_g                                              align
 *   S_g = sum, or mean, of R_j over the j that hold g      cross
 *   A_g = S_g - mean over the node's G messages of S
 *
 * for each role separately, without a standard deviation and with the message's own score in the mean.
 * C3 on the same tree leaves the own score out (equations 14 and 15): with the number c_g of joint
 * actions that hold g, and the mean M_g of their R_j,
 *
 *   A_g = k * (M_g - sum over i != g of c_i M_i / sum over i != g of c_i)        k: c_g if S_g is a sum, else 1
 *
 * which is G / (G - 1) times the credit above if nothing is masked. A node whose joint actions have a
 * mean reward above `termination_threshold` has no children. The policy learns from one node after
 * another, each after the nodes below it, with one step for each role.
 */

import { leaveOneOut } from '../../credit/estimators/loo.ts';
import { jointFanout, computeJointReward, type JointGrowth, type Stop } from '../../replay/jointTree.ts';
import { countCalls, type TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { Protocol } from '../../team/protocol.ts';
import { countFanoutCalls, messagesPerTurn } from '../../team/rounds.ts';
import { isOneByOne } from '../../team/roundsForm.ts';
import { makeCosineSchedule } from '../schedule.ts';
import type { JointSettings, LearningStep, MethodSettings, Outcome, Rollout, Update } from './method.ts';

/** The size of a tree of turns in which no branch ends early (reference section 2). */
export interface TreeCounts {
  readonly nodes: number;
  readonly jointActions: number;
  readonly leaves: number;
  /** Sampled messages of all roles. */
  readonly messages: number;
  /** Joint actions that are continued. */
  readonly transitions: number;
  readonly optimizerSteps: number;
}

/** Counts a tree with a number of turns. */
export function countTree(
  {
    num_agents: roles,
    num_generations: each,
    joint_mode: mode,
  }: Pick<JointSettings, 'num_agents' | 'num_generations' | 'joint_mode'>,
  turns: number,
): TreeCounts {
  const actions = mode === 'cross' ? each ** roles : each;
  const nodes = Array.from({ length: turns }, (_, turn) => actions ** turn).reduce((sum, count) => sum + count, 0);
  return {
    nodes,
    jointActions: nodes * actions,
    leaves: actions ** turns,
    messages: nodes * roles * each,
    transitions: nodes - 1,
    optimizerSteps: nodes * roles,
  };
}

const countTurns = ({ rounds }: Protocol): number => rounds?.turns ?? 1;

/** Describes the largest tree of one problem, in one sentence. */
export function describeTree(settings: JointSettings, protocol: Protocol): string {
  const turns = countTurns(protocol);
  const { nodes, jointActions, leaves, messages, optimizerSteps } = countTree(settings, turns);
  const many = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;
  return `The tree of a problem has up to ${many(nodes, 'node')} in ${many(turns, 'turn')}, ${many(jointActions, 'joint action')} and ${leaves === 1 ? '1 leaf' : `${leaves} leaves`}: ${many(messages, 'sampled message')}, ${many(optimizerSteps, 'optimizer step')}.`;
}

/** Returns the reward of a joint action as the tree compares it: first scaled, then shifted. */
export function processReward(
  raw: number,
  { reward_processor: { enabled, scale_factor: factor }, reward_shift: shift }: JointSettings,
): number {
  const scaled = enabled ? raw * factor : raw;
  return shift === null ? scaled : scaled + shift;
}

/**
 * Returns a warning about a threshold that no node or every node passes. Returns null if the rewards
 * decide, or if there is no threshold or only one turn.
 */
export function describeThreshold(settings: JointSettings, protocol: Protocol): string | null {
  const threshold = settings.termination_threshold;
  if (threshold === null || countTurns(protocol) === 1) {
    return null;
  }
  // Scores are from 0 to 1; a negative factor swaps the bounds.
  const [floor = 0, ceiling = 0] = [0, 1].map((score) => processReward(score, settings)).sort((a, b) => a - b);
  const words = (bound: number): string => String(Number(bound.toFixed(6)));
  if (threshold >= ceiling) {
    return `magrpo.termination_threshold is ${threshold}, and no processed reward is above ${words(ceiling)}, so no node ends early; write a smaller one, or null.`;
  }
  return threshold < floor
    ? `magrpo.termination_threshold is ${threshold}, and no processed reward is below ${words(floor)}, so every node ends after its first turn; write a larger one, or null.`
    : null;
}

const averageValues = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns the reason why a node ends, or null if it continues. Masked rewards do not count. */
function decideStop(settings: JointSettings, rewards: readonly (number | null)[]): Stop | null {
  const threshold = settings.termination_threshold;
  const measured = rewards.flatMap((raw) => (raw === null ? [] : [processReward(raw, settings)]));
  const mean = averageValues(measured);
  // Strictly above the threshold, as published. Without a measured reward the node continues.
  if (threshold === null || measured.length === 0 || !(mean > threshold)) {
    return null;
  }
  return {
    reason: `the mean processed reward of the turn's ${measured.length} joint actions is ${mean.toFixed(3)}, above ${threshold}`,
    json: { mean, threshold },
  };
}

/** Plans one tree for each problem. */
export function planJointRollouts(settings: JointSettings, protocol: Protocol): readonly Rollout[] {
  const joint: JointGrowth = {
    generations: settings.num_generations,
    mode: settings.joint_mode,
    stop: (rewards) => decideStop(settings, rewards),
  };
  const fanout = jointFanout(joint, protocol.occurrences.length, messagesPerTurn(protocol));
  return [{ fanout, commonRandomNumbers: true, joint }];
}

/** Returns the reason why a tree cannot be sampled with a protocol, or null if it can. */
export function findJointFault(
  magrpo: JointSettings,
  { evaluator_budget: budget }: Pick<MethodSettings, 'evaluator_budget'>,
  protocol: Protocol,
): string | null {
  const { rounds, name, occurrences } = protocol;
  const perTurn = messagesPerTurn(protocol);
  const { num_agents: roles, num_turns: turns, joint_mode: mode, num_generations: each } = magrpo;
  if (rounds !== undefined && (rounds.order === 'random' || isOneByOne(rounds.order))) {
    return `magrpo samples all roles of a turn, and in the protocol ${name} the order is ${rounds.order}; choose order by_role, fixed or reverse.`;
  }
  if (roles !== perTurn) {
    return (
      `magrpo.num_agents is ${roles}, and a turn of the protocol ${name} has ` +
      `${perTurn} messages; write num_agents: ${perTurn}.`
    );
  }
  if (rounds === undefined && turns !== null && turns > 1) {
    return `magrpo.num_turns is ${turns}, and the protocol ${name} has no rounds; give it rounds, or write num_turns: 1.`;
  }
  const first = occurrences.slice(0, perTurn);
  if (mode === 'cross' && first.some(({ ancestors }) => ancestors.length > 0)) {
    return `magrpo.joint_mode: cross combines messages that do not know each other, and in a turn of the protocol ${name} some roles see others; choose align.`;
  }
  if (countTurns(protocol) > 1 && !first.some(({ scored }) => scored)) {
    return `magrpo needs a reward in every turn, and the protocol ${name} has one at the end only; give a role with_answer: true.`;
  }
  const calls = countFanoutCalls(protocol, jointFanout({ generations: each, mode }, occurrences.length, perTurn));
  return calls <= budget
    ? null
    : `the tree of magrpo needs up to ${calls} evaluator calls per problem with the protocol ${name}, more than evaluator_budget (${budget}); raise it, or lower num_generations or num_turns.`;
}

/** A joint action of a node: one message of each role. */
interface JointAction {
  readonly path: readonly TreeMessage[];
  /** R_j, or null if its reward is masked. */
  readonly value: number | null;
}

/** The baseline of a message: the mean of all its role's messages at the node, or of the others only. */
export type JointEstimator = 'magrpo' | 'loo';

export function creditTrees(
  trees: readonly (readonly TreeMessage[])[],
  settings: JointSettings,
  estimator: JointEstimator,
): ReadonlyMap<TreeMessage, Credit> {
  const credits = new Map<TreeMessage, Credit>();
  for (const tree of trees) {
    creditNode(tree, settings, estimator, credits);
  }
  return credits;
}

/**
 * Credits the messages of a node and of all nodes below it. A message without a measured return, or
 * with nothing to compare it with, gets no credit.
 * @param first the messages of the first role at the node, in order
 * @returns R_j of the node's joint actions; null if masked
 */
export function creditNode(
  first: readonly TreeMessage[],
  settings: JointSettings,
  estimator: JointEstimator,
  credits: Map<TreeMessage, Credit>,
): readonly (number | null)[] {
  const actions = listJointPaths(first, settings.num_agents).map((path): JointAction => {
    const last = path.at(-1) ?? null;
    const below = creditNode(last?.children ?? [], settings, estimator, credits).flatMap((value) => value ?? []);
    const raw = computeJointReward(last, path.length);
    const own = raw === null ? null : processReward(raw, settings);
    return { path, value: own === null || below.length === 0 ? own : own + settings.discount * averageValues(below) };
  });
  const calls = first.reduce((sum, message) => sum + countCalls(message), 0);
  for (let role = 0; role < settings.num_agents; role++) {
    for (const [message, credit] of creditRole(actions, role, settings, { estimator, evaluatorCalls: calls })) {
      credits.set(message, credit);
    }
  }
  return actions.map(({ value }) => value);
}

/** Returns the joint actions of a node, the first role slowest. Ended episodes have shorter paths. */
const listJointPaths = (first: readonly TreeMessage[], length: number): readonly (readonly TreeMessage[])[] =>
  first.flatMap((message) =>
    length === 1 || message.children.length === 0
      ? [[message]]
      : listJointPaths(message.children, length - 1).map((rest) => [message, ...rest]),
  );

/** Yields the credits of one role's messages at a node. Rows of the same message share one. */
function* creditRole(
  actions: readonly JointAction[],
  role: number,
  { joint_mode: mode, cross_reduce: reduce }: JointSettings,
  behind: Pick<Credit, 'evaluatorCalls'> & { readonly estimator: JointEstimator },
): Generator<readonly [TreeMessage, Credit]> {
  // With `cross` the g-th message has one row below every combination of the messages before it.
  const held = Map.groupBy(actions.keys(), (index) => (mode === 'cross' ? actions[index]?.path[role]?.sibling : index));
  const messages = [...held.values()].flatMap((indices) => {
    const own = indices.flatMap((index) => actions[index] ?? []);
    const rows = new Set(own.flatMap(({ path }) => path[role] ?? []));
    const values = own.flatMap(({ value }) => value ?? []);
    const factor = mode === 'cross' && reduce === 'sum' ? own.length : 1;
    return values.length === 0 || rows.size === 0
      ? []
      : [{ rows, mean: averageValues(values), count: values.length, factor }];
  });
  if (messages.length < 2) {
    return;
  }
  const baseline = averageValues(messages.map(({ mean, factor }) => mean * factor));
  const others = leaveOneOut(messages);
  const n = actions.filter(({ value }) => value !== null).length;
  for (const [index, { rows, mean, factor }] of messages.entries()) {
    const value = behind.estimator === 'loo' ? (others[index]?.credit ?? 0) * factor : mean * factor - baseline;
    for (const row of rows) {
      // Joint actions that share messages are not independent samples, so there is no interval.
      yield [row, { ...behind, value, n, low: null, high: null, interval: 'none' }];
    }
  }
}

/**
 * Yields one optimizer step for each role at each node, deepest nodes first, down the gradient of
 *
 *   mean over the node's messages of -A * log policy(message)
 *
 * with the current policy, without a ratio to the one that sampled, and without clipping. A node's
 * messages are learned from after those below it, so the policy has already moved by then.
 */
export function* updateNodes({
  settings: { steps, ppo },
  iteration,
  nodes,
  roles,
}: LearningStep): Generator<Update, void, Outcome> {
  const { learning_rate: peak, warmup_fraction: warmupFraction, final_fraction: floorFraction } = ppo;
  const learningRate = makeCosineSchedule({ peak, warmupFraction, floorFraction, totalSteps: steps })(iteration - 1);
  for (const node of nodes) {
    for (const role of roles) {
      yield { kind: 'policy', learningRate, roles: [role], node, weight: 'sequence', loss: { ratio: 'none' } };
    }
  }
}
