/**
 * What MAGRPO's tree estimates, against the gradient of a joint policy in a table: two roles pick one of two actions in
 * each turn, and in the second turn they know what both did in the first. With G messages of each role at a node the
 * expected update is, of the logits of
 *
 *   the first turn   B K     d E[r_1 + discount r_2] / d logits
 *   the second turn  B K M   d E[r_2] / d logits
 *
 * with M child nodes of the root, K = 1 for `align` and for the mean of `cross`, G for its sum, and B = 1 - 1 / G with
 * the own score in the baseline (magrpo), 1 without (c3, leave-one-out).
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Evaluator } from '../../../../src/evaluate/evaluator.ts';
import type { PolicyRequest } from '../../../../src/policy/policy.ts';
import { EvaluatorBudget } from '../../../../src/replay/budget.ts';
import { growJoint } from '../../../../src/replay/growJoint.ts';
import type { TreeMessage } from '../../../../src/replay/tree.ts';
import { Stream } from '../../../../src/runtime/random.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../../src/team/protocol.ts';
import { renderPlain } from '../../../../src/team/render.ts';
import { getRunRounds, type RunConfig } from '../../../../src/training/config/config.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { walkEpisode, type Method } from '../../../../src/training/methods/method.ts';
import { getMethod } from '../../../../src/training/methods/methods.ts';
import { softmax } from '../../../support/tabularTeam.ts';
import { problems, NEVER, SAMPLING, ScriptedPolicy, starts } from '../../../unit/replay/helpers.ts';

const G = 2;
const DISCOUNT = 0.7;
const ROLES = ['aux', 'main'] as const;

/** The logit of saying `b` by role: in the first turn, then after `aa`, `ab`, `ba`, `bb`. */
const LOGITS: readonly (readonly number[])[] = [
  [0.3, -0.4, 0.8, 0.1, -0.9],
  [-0.6, 0.5, 0.2, -0.7, 0.4],
];
const chanceOf = (role: number, state: number, said: string): number =>
  softmax([0, LOGITS[role]?.[state] ?? NaN])[said === 'b' ? 1 : 0] ?? NaN;
const slopeOf = (role: number, state: number, said: string): number =>
  (said === 'b' ? 1 : 0) - chanceOf(role, state, 'b');

/** What a whole turn is worth, by both actions: no sum of one value for each. */
const JOINT: Readonly<Record<string, number>> = { aa: 0.1, ab: 0.9, ba: 0.6, bb: 0.2 };
/** What a message says of itself: its action, and in the second turn those of the first. */
const VALUES: Readonly<Record<string, number>> = Object.fromEntries(
  ROLES.flatMap((role, r) =>
    ['', 'aa', 'ab', 'ba', 'bb'].flatMap((state, s) =>
      ['a', 'b'].map((said, a) => [`${role} ${state}${said}`, ((7 * r + 5 * s + 3 * a + s * a * (r + 2)) % 13) / 12]),
    ),
  ),
);

const actionsIn = (context: string): string =>
  [...context.matchAll(/#(?:aux|main) ([ab]+)/gu)].map(([, said = '']) => said.at(-1)).join('');
const stateOf = (before: string): number => (before === '' ? 0 : 1 + ['aa', 'ab', 'ba', 'bb'].indexOf(before));

function say({ role, context, streamKey }: PolicyRequest): string {
  const before = actionsIn(context);
  const isSecond = new Stream(streamKey).uniform(0) < chanceOf(role === 'aux' ? 0 : 1, stateOf(before), 'b');
  return `#${role} ${before}${isSecond ? 'b' : 'a'}`;
}

/** Scores a message by its own words, and what joins both messages by both. */
const TABLE: Evaluator = {
  name: 'table',
  evaluate: (_, text) => {
    const both = actionsIn(text);
    return Promise.resolve({
      score: both.length === 2 ? (JOINT[both] ?? NaN) : (VALUES[text.slice(1)] ?? NaN),
      rule: '',
    });
  },
};

interface Case {
  readonly mode: 'align' | 'cross';
  readonly turns: 1 | 2;
  readonly reduce: 'sum' | 'mean';
  readonly by?: 'magrpo' | 'c3';
}

const GROWN = new Map<string, Promise<TreeMessage[][]>>();

async function growTrees(
  method: Method,
  config: RunConfig,
  protocol: Protocol,
  count: number,
): Promise<TreeMessage[][]> {
  const roots = await growJoint(
    {
      protocol,
      render: renderPlain,
      policy: new ScriptedPolicy(say),
      evaluator: TABLE,
      budget: new EvaluatorBudget(Infinity),
      sampling: SAMPLING,
      seed: 5,
      scope: 'iteration:1',
      commonRandomNumbers: true,
    },
    starts(problems(count)),
    method.plan(config, protocol, 0)[0]?.joint ?? assert.fail(),
    NEVER,
  );
  return Array.from({ length: count }, (_, index) => roots.slice(index * G, (index + 1) * G));
}

/** By role and state: sums over trees of what one tree asks for, and of its squares. */
async function updates(
  { mode, turns, reduce, by = 'magrpo' }: Case,
  count: number,
): Promise<{ mean: number[][]; error: number[][] }> {
  const config = readConfig('', 'table', [
    `method=${by}`,
    'evaluator_budget=1000',
    `magrpo={num_turns: ${turns}, num_generations: ${G}, joint_mode: ${mode}, cross_reduce: ${reduce}, discount: ${DISCOUNT}}`,
  ]);
  const protocol = parseProtocol(
    JSON.stringify({
      name: 'table',
      roles: ROLES.map((role) => ({ role, prompt: 'Act.' })),
      ...(turns === 2 && { scored: ROLES }),
      rounds: { turns: 1, ...(turns === 1 && { closing: 'join' }) },
    }),
    'table.json',
    getRunRounds(config),
  );
  const method = getMethod(by);
  assert.equal(method.fault(config, protocol), null);
  // How a tree is credited is nothing to its growth.
  const name = `${mode} ${turns} ${count}`;
  const growing = GROWN.get(name) ?? growTrees(method, config, protocol, count);
  GROWN.set(name, growing);
  const trees = await growing;
  const { credits } = method.credit({
    settings: config,
    stage: 0,
    problems: trees,
    measured: [],
    values: new Map(),
    state: { json: null, tensors: {} },
  });
  const zeros = (): number[][] => LOGITS.map((states) => states.map(() => 0));
  const [sum, squares] = [zeros(), zeros()];
  for (const tree of trees) {
    const own = zeros();
    // Rows of one message are one message.
    const said = new Map(tree.flatMap((root) => [...walkEpisode(root)]).map((message) => [message.streamKey, message]));
    for (const message of said.values()) {
      const credit = credits.get(message) ?? assert.fail();
      const [role, state] = [message.position % 2, stateOf(before(message))];
      const row = own[role] ?? [];
      row[state] = (row[state] ?? 0) + (credit.value * slopeOf(role, state, message.answer.text.slice(-1))) / G;
    }
    for (const [role, states] of own.entries()) {
      for (const [state, value] of states.entries()) {
        const [total, square] = [sum[role] ?? [], squares[role] ?? []];
        total[state] = (total[state] ?? 0) + value;
        square[state] = (square[state] ?? 0) + value ** 2;
      }
    }
  }
  const mean = sum.map((states) => states.map((value) => value / count));
  const error = mean.map((states, role) =>
    states.map((value, state) => Math.sqrt(((squares[role]?.[state] ?? 0) / count - value ** 2) / count)),
  );
  return { mean, error };
}

/** The actions of the first turn, where the message is of the second. */
const before = (message: TreeMessage): string => message.answer.text.split(' ')[1]?.slice(0, -1) ?? '';

/** The exact gradient by role and state, with what the update is expected to be of it. */
function expected({ mode, turns, reduce, by }: Case): number[][] {
  const factor = (by === 'c3' ? 1 : 1 - 1 / G) * (mode === 'cross' && reduce === 'sum' ? G : 1);
  const children = mode === 'cross' ? G ** 2 : G;
  const gradient = LOGITS.map((states) => states.map(() => 0));
  const add = (role: number, state: number, said: string, value: number): void => {
    const row = gradient[role] ?? [];
    row[state] = (row[state] ?? 0) + factor * value * slopeOf(role, state, said);
  };
  const PAIRS = ['aa', 'ab', 'ba', 'bb'];
  const chance = (state: number, both: string): number =>
    chanceOf(0, state, both.slice(0, 1)) * chanceOf(1, state, both.slice(1));
  for (const first of PAIRS) {
    const likely = chance(0, first);
    const own = (prefix: string, both: string): number =>
      (VALUES[`aux ${prefix}${both.slice(0, 1)}`] ?? NaN) + (VALUES[`main ${prefix}${both.slice(1)}`] ?? NaN);
    let value = turns === 1 ? (JOINT[first] ?? NaN) : own('', first);
    for (const second of turns === 1 ? [] : PAIRS) {
      const state = stateOf(first);
      const reward = own(first, second);
      value += DISCOUNT * chance(state, second) * reward;
      for (const role of [0, 1]) {
        add(role, state, second.slice(role, role + 1), likely * chance(state, second) * reward * children);
      }
    }
    for (const role of [0, 1]) {
      add(role, 0, first.slice(role, role + 1), likely * value);
    }
  }
  return gradient;
}

describe('the expected update of the tree is the gradient of the joint policy', () => {
  const CASES: readonly Case[] = [
    { mode: 'align', turns: 1, reduce: 'sum' },
    { mode: 'cross', turns: 1, reduce: 'sum' },
    { mode: 'align', turns: 2, reduce: 'sum' },
    { mode: 'cross', turns: 2, reduce: 'sum' },
    { mode: 'cross', turns: 2, reduce: 'mean' },
    { mode: 'align', turns: 2, reduce: 'sum', by: 'c3' },
    { mode: 'cross', turns: 2, reduce: 'mean', by: 'c3' },
  ];
  for (const one of CASES) {
    it(JSON.stringify(one), async (t) => {
      const { mean, error } = await updates(one, one.turns === 1 ? 3000 : 600);
      const wanted = expected(one);
      let [furthest, strongest] = [0, 0];
      for (const [role, states] of wanted.entries()) {
        for (const [state, value] of states.entries()) {
          if (one.turns === 1 && state > 0) {
            continue;
          }
          const [found, off] = [mean[role]?.[state] ?? NaN, error[role]?.[state] ?? NaN];
          const z = Math.abs(found - value) / off;
          assert.ok(z < 4, `role ${role}, state ${state}: ${found} is not ${value}`);
          [furthest, strongest] = [Math.max(furthest, z), Math.max(strongest, Math.abs(value) / off)];
        }
      }
      t.diagnostic(`at most ${furthest.toFixed(2)} standard errors away; the largest entry is ${strongest.toFixed(0)}`);
      // Zeros would be far off.
      assert.ok(strongest > 6, String(strongest));
    });
  }
});
