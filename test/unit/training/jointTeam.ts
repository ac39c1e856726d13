/** Rollout trees of MAGRPO with scripted messages, whose credits are known. */

import assert from 'node:assert/strict';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import { EvaluatorBudget } from '../../../src/replay/budget.ts';
import { growJoint } from '../../../src/replay/growJoint.ts';
import type { TreeMessage } from '../../../src/replay/tree.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { getRunRounds, type RunConfig } from '../../../src/training/config/config.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { walkEpisode, type Update } from '../../../src/training/methods/method.ts';
import { getMethod } from '../../../src/training/methods/methods.ts';
import { problems, NEVER, SAMPLING, ScriptedPolicy, starts } from '../replay/helpers.ts';

const ROLES = ['aux', 'main', 'third'];

/** Roles that do not see each other within a turn. */
export function teamOf(roles: number, config: RunConfig, scored: readonly string[]): Protocol {
  const text = JSON.stringify({
    name: 'joint',
    roles: ROLES.slice(0, roles).map((role) => ({ role, prompt: `Be ${role}.` })),
    scored,
    rounds: { turns: 1, discount: 0.5 },
  });
  return parseProtocol(text, 'joint.json', getRunRounds(config));
}

/** Says the index of the message among those of its role at its node; their contexts are the node's own. */
function counting(): ScriptedPolicy {
  const said = new Map<string, string[]>();
  return new ScriptedPolicy(({ role, context, streamKey }) => {
    const keys = said.get(`${role} ${context}`) ?? [];
    said.set(`${role} ${context}`, keys);
    if (!keys.includes(streamKey)) {
      keys.push(streamKey);
    }
    return `#${keys.indexOf(streamKey)}`;
  });
}

/** The scripted policy answers its last request first: indices count down. */
const tenths = (each: number): Evaluator => ({
  name: 'tenths',
  evaluate: (_, text) => Promise.resolve({ score: (each - 1 - Number(text.slice(1))) / 10, rule: 'tenths' }),
});

export interface Vector {
  readonly n: number;
  readonly g: number;
  readonly t: number;
  readonly mode: 'align' | 'cross';
  readonly threshold?: number;
  readonly shift?: number;
  readonly reduce?: 'sum' | 'mean';
}

interface Made {
  readonly config: RunConfig;
  readonly protocol: Protocol;
  readonly roots: readonly TreeMessage[];
  readonly policy: ScriptedPolicy;
  readonly calls: number;
}

export const configOf = ({ n, g, t, mode, threshold, shift, reduce = 'sum' }: Vector): RunConfig =>
  readConfig('', 'joint', [
    'method=magrpo',
    'evaluator_budget=100000',
    `magrpo={num_agents: ${n}, num_turns: ${t}, num_generations: ${g}, joint_mode: ${mode}, cross_reduce: ${reduce}, termination_threshold: ${String(threshold ?? null)}, reward_shift: ${String(shift ?? null)}}`,
  ]);

export async function grown(vector: Vector, scored = ROLES.slice(0, vector.n)): Promise<Made> {
  const config = configOf(vector);
  const protocol = teamOf(vector.n, config, scored);
  const method = getMethod('magrpo');
  assert.equal(method.fault(config, protocol), null);
  const [rollout] = method.plan(config, protocol, 0);
  const joint = rollout?.joint ?? assert.fail();
  const policy = counting();
  const budget = new EvaluatorBudget(config.evaluator_budget);
  const roots = await growJoint(
    {
      protocol,
      render: renderPlain,
      policy,
      evaluator: tenths(vector.g),
      budget,
      sampling: SAMPLING,
      seed: 0,
      scope: 'iteration:1',
      commonRandomNumbers: true,
    },
    starts(problems(1)),
    joint,
    NEVER,
  );
  return { config, protocol, roots, policy, calls: budget.calls };
}

const creditsOf = (
  { config, roots }: Made,
  method: 'magrpo' | 'c3',
): ReadonlyMap<TreeMessage, { readonly value: number }> =>
  getMethod(method).credit({
    settings: config,
    stage: 0,
    problems: [roots],
    measured: [],
    values: new Map(),
    state: { json: null, tensors: {} },
  }).credits;

/** The rows of a tree as a store gives them. */
export function rowsOf(roots: readonly TreeMessage[]): {
  readonly rows: { message: number; parent: number | null; problem: string; position: number }[];
  readonly ids: ReadonlyMap<TreeMessage, number>;
} {
  const ids = new Map(roots.flatMap((root) => [...walkEpisode(root)]).map((message, index) => [message, index]));
  const rows = [...ids].map(([{ parent, position }, message]) => ({
    message,
    parent: parent === null ? null : (ids.get(parent) ?? assert.fail()),
    problem: 'q',
    position,
  }));
  return { rows, ids };
}

export function near(found: readonly number[], wanted: readonly number[]): void {
  assert.equal(found.length, wanted.length, found.join(', '));
  for (const [index, value] of found.entries()) {
    assert.ok(Math.abs(value - (wanted[index] ?? NaN)) < 1e-9, `${found.join(', ')} and not ${wanted.join(', ')}`);
  }
}

/** What a step learns, one after another. */
export async function updatesOf(
  method: 'magrpo' | 'c3',
  { config }: Made,
  nodes: readonly string[],
): Promise<Update[]> {
  const roles = ROLES.slice(0, config.magrpo?.num_agents);
  const step = { settings: config, iteration: 1, state: { json: null, tensors: {} }, roles };
  const asked = getMethod(method).updates({ ...step, nodes, random: () => () => 0 });
  const updates: Update[] = [];
  for (let one = await asked.next({}); one.done !== true; one = await asked.next({})) {
    updates.push(one.value);
  }
  return updates;
}

/** What each role said at the root with its credit: one of every sample. */
export function rootCredits(made: Made, method: 'magrpo' | 'c3' = 'magrpo'): number[][] {
  const credits = creditsOf(made, method);
  const perRole: number[][] = [];
  let row: readonly TreeMessage[] = made.roots;
  for (let role = 0; role < (made.config.magrpo?.num_agents ?? 0); role++) {
    const samples = new Map(row.map((message) => [message.streamKey, credits.get(message)?.value ?? NaN]));
    perRole.push([...samples.values()]);
    row = row.flatMap(({ children }) => children);
  }
  return perRole;
}

const centre = (scores: readonly number[]): number => scores.reduce((sum, score) => sum + score, 0) / scores.length;
export const centered = (scores: readonly number[]): number[] => scores.map((score) => score - centre(scores));

/** Each less the mean of the others. */
export const leftOut = (scores: readonly number[]): number[] =>
  scores.map((score, index) => score - centre(scores.toSpliced(index, 1)));
