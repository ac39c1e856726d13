import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { EvaluatorBudget } from '../../../src/replay/budget.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { writeContext, extend, findRoleSampling } from '../../../src/replay/grow.ts';
import { countCalls, findLeaves, computeReturn, type TreeMessage } from '../../../src/replay/tree.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { hashContext } from '../../../src/team/contextKey.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { countFanoutCalls } from '../../../src/team/rounds.ts';
import {
  allNodes,
  CHAIN,
  CHECKPOINTS,
  CountingEvaluator,
  digest,
  errorOfKind,
  problems,
  NEVER,
  PAIR,
  PARALLEL,
  positionsOf,
  SAMPLING,
  ScriptedPolicy,
  starts,
  TWICE,
  world,
  type World,
} from './helpers.ts';

const [FIRST, SECOND] = problems(2);
assert.ok(FIRST && SECOND);

const growAll = (made: World, fanout: readonly number[], of = [FIRST]): Promise<TreeMessage[]> =>
  growEpisodes(made.settings, starts(of), fanout, NEVER);

const pathOf = (message: TreeMessage): number[] =>
  message.parent === null ? [message.sibling] : [...pathOf(message.parent), message.sibling];

describe('grow', () => {
  it('makes 2 plans and 4 solutions of each: 10 messages and 8 evaluator calls', async () => {
    const made = world(PAIR);
    const roots = await growAll(made, [2, 4]);
    assert.deepEqual(allNodes(roots).map(pathOf), [
      [0],
      [0, 0],
      [0, 1],
      [0, 2],
      [0, 3],
      [1],
      [1, 0],
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    assert.equal(made.evaluator.calls, 8);
    assert.equal(made.settings.budget.calls, 8);
    assert.equal(made.policy.requests.length, 10);
    assert.deepEqual(roots.map(countCalls), [4, 4]);
    for (const message of allNodes(roots)) {
      assert.equal(message.score === undefined, message.parent === null, 'the solutions are scored, the plans are not');
    }
  });

  it('keeps the trees of several problems apart, in their order', async () => {
    const roots = await growAll(world(PAIR), [2, 1], [FIRST, SECOND]);
    assert.deepEqual(
      roots.map(({ problem, sibling }) => [problem.uid, sibling]),
      [
        ['q-0', 0],
        ['q-0', 1],
        ['q-1', 0],
        ['q-1', 1],
      ],
    );
    for (const message of allNodes(roots)) {
      assert.ok(message.context.includes(message.problem.question));
    }
  });

  it('says what a fan-out costs before it is paid', async () => {
    const cases: readonly (readonly [Protocol, readonly number[]])[] = [
      [PAIR, [2, 4]],
      [CHAIN, [2, 3, 1, 2]],
      [PARALLEL, [2, 1, 1, 2]],
      [CHECKPOINTS, [3, 2]],
      [TWICE, [1, 2, 2]],
    ];
    for (const [protocol, fanout] of cases) {
      const made = world(protocol);
      await growAll(made, fanout);
      assert.equal(made.evaluator.calls, countFanoutCalls(protocol, fanout), protocol.name);
    }
  });

  it('refuses a budget that does not reach to the leaves before anything is sampled', async () => {
    const short = world(PAIR, { budget: new EvaluatorBudget(7) });
    await assert.rejects(growAll(short, [2, 4]), errorOfKind('budget', /allows 7 calls.*8 more/));
    assert.equal(short.policy.requests.length, 0);
    // The first level alone would fit: 2 of 9, and 8 below them do not.
    const half = world(CHECKPOINTS, { budget: new EvaluatorBudget(9) });
    await assert.rejects(growAll(half, [2, 4]), errorOfKind('budget', /10 more/));
    assert.equal(half.policy.requests.length + half.evaluator.calls, 0);
    const enough = world(CHECKPOINTS, { budget: new EvaluatorBudget(10) });
    assert.equal((await growAll(enough, [2, 4])).length, 2);
  });

  it('hands on a cancel', async () => {
    const made = world(PAIR);
    made.policy.answersLeft = 3;
    await assert.rejects(growAll(made, [2, 4]), CancelledError);
  });
});

describe('contexts', () => {
  it('are exactly the prompt, the question and the visible messages', async () => {
    const roots = await growAll(
      world(PAIR, { policy: new ScriptedPolicy(({ context }) => (context.startsWith('Plan') ? '1+1' : '#### 2')) }),
      [1, 1],
    );
    const [plan, solution] = allNodes(roots);
    assert.equal(plan?.context, 'Plan.\n\nProblem:\nQuestion 0?\n');
    assert.equal(solution?.context, 'Solve.\n\nProblem:\nQuestion 0?\n\nContext:\n1+1\n');
  });

  it('hide what parallel roles say from each other', async () => {
    const roots = await growAll(
      world(PARALLEL, { policy: new ScriptedPolicy(({ context }) => `<${context.slice(0, 4)}>`) }),
      [1, 1, 1, 1],
    );
    const [planner, left, right, integrator] = allNodes(roots);
    assert.equal(planner?.context, 'Plan.\n\nProblem:\nQuestion 0?\n');
    assert.equal(left?.context, 'Go left.\n\nProblem:\nQuestion 0?\n\nContext:\n<Plan>\n');
    assert.equal(right?.context, 'Go right.\n\nProblem:\nQuestion 0?\n\nContext:\n<Plan>\n');
    assert.equal(integrator?.context, 'Join.\n\nProblem:\nQuestion 0?\n\nContext:\n<Plan>\n\n<Go l>\n\n<Go r>\n');
  });

  it('are what the policy is asked, and what their keys are made of', async () => {
    const made = world(TWICE);
    const messages = allNodes(await growAll(made, [2, 1, 2]));
    assert.deepEqual(
      messages.map(({ context }) => context).sort(),
      made.policy.requests.map(({ context }) => context).sort(),
    );
    for (const message of messages) {
      assert.equal(message.contextKey, hashContext(message.context).key);
    }
  });

  it('can be had again from a branch, with nothing but the messages before', async () => {
    for (const message of allNodes(await growAll(world(PARALLEL), [2, 1, 1, 2]))) {
      const { context, key } = await writeContext(
        { protocol: PARALLEL, render: renderPlain },
        { problem: message.problem, message: message.parent },
        message.position,
      );
      assert.deepEqual({ context, key }, { context: message.context, key: message.contextKey });
    }
  });
});

describe('streams', () => {
  it('are shared by replay m of two siblings and never by two siblings', async () => {
    const [one, other] = await growAll(world(PAIR), [2, 4]);
    assert.ok(one && other);
    assert.notEqual(one.streamKey, other.streamKey);
    const keys = one.children.map(({ streamKey }) => streamKey);
    assert.deepEqual(
      other.children.map(({ streamKey }) => streamKey),
      keys,
    );
    assert.equal(new Set([...keys, one.streamKey, other.streamKey]).size, 6);
  });

  it('of a tree of two levels are named by the index among siblings alone', async () => {
    const name = (role: string, sibling: number): string =>
      createHash('sha256')
        .update(JSON.stringify([5, 'iteration:1', FIRST.uidSha, role, 0, sibling]))
        .digest('hex')
        .slice(0, 32);
    const roots = await growAll(world(PAIR), [2, 4]);
    assert.deepEqual(
      roots.map(({ streamKey }) => streamKey),
      [name('reasoner', 0), name('reasoner', 1)],
    );
    for (const { children } of roots) {
      assert.deepEqual(
        children.map(({ streamKey }) => streamKey),
        [0, 1, 2, 3].map((sibling) => name('actor', sibling)),
      );
    }
  });

  it('are those of the same replay index below every alternative, and of no other, for any fan-out', async () => {
    const counter = openStream(11, 0);
    const draw = (place: number, high: number): number => 1 + Math.floor(uniform(counter, place) * high);
    for (let trial = 0; trial < 60; trial++) {
      const protocol = [PAIR, CHAIN, PARALLEL, TWICE][trial % 4] ?? PAIR;
      const fanout = positionsOf(protocol).map((position) => draw(8 * trial + position, 4));
      const paths = (root: TreeMessage): Map<string, string> =>
        new Map(allNodes(root.children).map((message) => [pathOf(message).slice(1).join('.'), message.streamKey]));
      for (const commonRandomNumbers of [true, false]) {
        const roots = await growAll(world(protocol, { commonRandomNumbers }), fanout);
        const below = roots.map(paths);
        const words = `${protocol.name} ${fanout.join(',')} ${String(commonRandomNumbers)}`;
        for (const keys of below) {
          assert.equal(
            new Set(keys.values()).size,
            keys.size,
            `${words}: two replays of one alternative share a stream`,
          );
        }
        if (commonRandomNumbers) {
          for (const keys of below) {
            assert.deepEqual(keys, below[0], words);
          }
        }
        const distinct = new Set([
          ...roots.map(({ streamKey }) => streamKey),
          ...below.flatMap((keys) => [...keys.values()]),
        ]);
        assert.equal(
          distinct.size,
          roots.length + (commonRandomNumbers ? 1 : roots.length) * (below[0]?.size ?? 0),
          words,
        );
      }
    }
  });

  it('number the leaves below an alternative as its replays are numbered', async () => {
    for (const root of await growAll(world(CHAIN), [2, 3, 1, 2])) {
      assert.deepEqual(
        findLeaves(root).map(({ replay }) => replay),
        [0, 1, 2, 3, 4, 5],
      );
    }
  });

  it('are left out for a policy that takes no seeds', async () => {
    const made = world(PAIR);
    made.policy.seeded = false;
    assert.deepEqual(new Set(allNodes(await growAll(made, [2, 2])).map(({ streamKey }) => streamKey)), new Set(['']));
  });

  it('differ between problems, seeds and scopes, and come again with the same ones', async () => {
    const keys = async (made: World, of = FIRST): Promise<string> =>
      (await growAll(made, [1, 1], [of]))[0]?.streamKey ?? '';
    const all = [
      await keys(world(PAIR)),
      await keys(world(PAIR), SECOND),
      await keys(world(PAIR, { seed: 6 })),
      await keys(world(PAIR, { scope: 'iteration:2' })),
    ];
    assert.equal(new Set(all).size, 4);
    assert.equal(await keys(world(PAIR)), all[0]);
  });
});

describe('extend', () => {
  it('gives the nodes back in the order of branches and siblings, whatever ends first', async () => {
    const made = world(PAIR);
    const roots = await extend(made.settings, starts([FIRST, SECOND]), 0, 2, NEVER);
    const heard: TreeMessage[] = [];
    const messages = await extend(
      made.settings,
      roots.map((message) => ({ problem: message.problem, message })),
      1,
      2,
      NEVER,
      (message) => heard.push(message),
    );
    assert.deepEqual(
      messages.map((message) => [message.problem.uid, ...pathOf(message)]),
      roots.flatMap((message) => [0, 1].map((sibling) => [message.problem.uid, message.sibling, sibling])),
    );
    // The scripted policy ends its answers from the last to the first.
    assert.deepEqual(heard, messages.toReversed());
    for (const root of roots) {
      assert.deepEqual(
        root.children,
        messages.filter(({ parent }) => parent === root),
      );
    }
  });

  it("cuts each role's messages at its own cap, or else at the run's", () => {
    assert.deepEqual(findRoleSampling({ protocol: PAIR, sampling: SAMPLING }, 0), { ...SAMPLING, maxNewTokens: 7 });
    assert.deepEqual(findRoleSampling({ protocol: PAIR, sampling: SAMPLING }, 1), SAMPLING);
  });
});

describe('returns', () => {
  it('are the sum over the scored messages of the path', async () => {
    const made = world(CHECKPOINTS, {
      policy: new ScriptedPolicy(({ context, streamKey }) => (digest(context, streamKey) % 2 === 0 ? 'good' : 'bad')),
      evaluator: new CountingEvaluator((text) => (text === 'good' ? 1 : 0)),
    });
    const roots = await growAll(made, [4, 4]);
    const value = ({ answer }: TreeMessage): number => (answer.text === 'good' ? 1 : 0);
    for (const root of roots) {
      for (const leaf of root.children) {
        assert.equal(computeReturn(leaf), value(root) + value(leaf));
      }
    }
    assert.deepEqual(
      new Set(roots.flatMap(findLeaves).map((leaf) => computeReturn(leaf))),
      new Set([0, 1, 2]),
      'every sum occurs',
    );
    assert.equal(made.settings.budget.calls, 4 + 16);
    // Two texts in one context of the draft, and in one of the final message after each of them.
    assert.equal(made.evaluator.calls, 2 + 4);
    assert.equal(
      roots.reduce((total, root) => total + countCalls(root), 0),
      2 + 4,
    );
  });

  it('are null, not 0, where any score of the path is masked', async () => {
    for (const [masked, expected] of [
      ['draft', [null, null]],
      ['final', [null, null]],
      ['nobody', [2, 2]],
    ] as const) {
      const made = world(CHECKPOINTS, {
        policy: new ScriptedPolicy(({ context }) => (context.startsWith('Draft') ? 'draft' : 'final')),
        evaluator: new CountingEvaluator((text) => (text === masked ? null : 1)),
      });
      assert.deepEqual(
        (await growAll(made, [1, 2])).flatMap(findLeaves).map((leaf) => computeReturn(leaf)),
        expected,
      );
    }
  });

  it('are null, not 0, where nothing was scored on the path', async () => {
    const [plan] = await extend(world(PAIR).settings, starts([FIRST]), 0, 1, NEVER);
    assert.ok(plan);
    assert.equal(computeReturn(plan), null);
  });

  it('are cut to the bound', async () => {
    const made = world(CHECKPOINTS, { evaluator: new CountingEvaluator(() => 1) });
    const [leaf] = (await growAll(made, [1, 1])).flatMap(findLeaves);
    assert.ok(leaf);
    assert.deepEqual([computeReturn(leaf), computeReturn(leaf, 1.5), computeReturn(leaf, 0.25)], [2, 1.5, 0.25]);
  });
});

describe('EvaluatorBudget', () => {
  it('counts what was spent, and refuses calls that were not booked', () => {
    const budget = new EvaluatorBudget(3);
    budget.reserve(2);
    budget.spend(2);
    assert.throws(() => budget.spend(1), errorOfKind('budget', /not been booked/));
    assert.throws(() => budget.reserve(2), errorOfKind('budget', /allows 3 calls: 2 are booked and 2 more/));
    budget.reserve(1);
    budget.spend(1);
    assert.equal(budget.calls, 3);
  });
});
