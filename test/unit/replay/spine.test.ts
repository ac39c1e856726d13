/** A spine: one episode, alternatives to each of its messages, each continued once. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EvaluatorBudget } from '../../../src/replay/budget.ts';
import { growSpine } from '../../../src/replay/episodes.ts';
import { countCalls, findLeaves, type TreeMessage } from '../../../src/replay/tree.ts';
import { countFanoutCalls, countTreeMessages } from '../../../src/team/rounds.ts';
import {
  allNodes,
  CHAIN,
  CHECKPOINTS,
  errorOfKind,
  problems,
  NEVER,
  PAIR,
  PARALLEL,
  ScriptedPolicy,
  starts,
  TWICE,
  world,
  type World,
} from './helpers.ts';

const [FIRST, SECOND] = problems(2);
assert.ok(FIRST && SECOND);

const grown = (made: World, fanout: readonly number[], of = [FIRST]): Promise<TreeMessage[]> =>
  growSpine(made.settings, starts(of), fanout, NEVER);

/** The episode that alternatives were taken to. */
function spineOf([first]: readonly TreeMessage[]): TreeMessage[] {
  return first === undefined ? [] : [first, ...spineOf(first.children)];
}

describe('growSpine', () => {
  it('takes alternatives to each message of one episode, and continues each of them once', async () => {
    const made = world(CHAIN, { commonRandomNumbers: false });
    const roots = await grown(made, [3, 2, 1, 2]);
    const spine = spineOf(roots);
    assert.deepEqual(
      spine.map(({ position }) => position),
      [0, 1, 2, 3],
    );
    const groups = [roots, ...spine.map(({ children }) => children)];
    assert.deepEqual(
      groups.map(({ length }) => length),
      [3, 2, 1, 2, 0],
    );
    for (const message of groups.flat().filter((one) => !spine.includes(one))) {
      assert.equal(findLeaves(message).length, 1);
      assert.equal(findLeaves(message)[0]?.position, 3);
    }
    assert.deepEqual(
      groups.map((group) => group.map(({ sibling }) => sibling)),
      [[0, 1, 2], [0, 1], [0], [0, 1], []],
    );
    assert.equal(findLeaves(spine[0] ?? assert.fail()).length, 3, 'its leaves are the replays of its first message');
    assert.equal(made.evaluator.calls, 5);
  });

  it('costs what its fan-out says, for any protocol', async () => {
    for (const [protocol, fanout] of [
      [PAIR, [5, 4]],
      [CHAIN, [3, 2, 2, 1]],
      [PARALLEL, [2, 2]],
      [TWICE, [1, 1, 4]],
      [CHECKPOINTS, [2, 3]],
    ] as const) {
      const made = world(protocol, { commonRandomNumbers: false });
      const roots = await grown(made, fanout, [FIRST, SECOND]);
      const calls = countFanoutCalls(protocol, fanout, 'spine');
      assert.equal(
        roots.reduce((sum, root) => sum + countCalls(root), 0) +
          allNodes(roots).filter(({ score }) => score?.reused === true).length,
        2 * calls,
        protocol.name,
      );
      const levels = countTreeMessages(fanout, 'spine', protocol.occurrences.length);
      for (const [level, count] of levels.entries()) {
        assert.equal(allNodes(roots).filter(({ position }) => position === level).length, 2 * count);
      }
      const short = world(protocol, { budget: new EvaluatorBudget(2 * calls - 1) });
      await assert.rejects(grown(short, fanout, [FIRST, SECOND]), errorOfKind('budget', /evaluator budget/u));
      assert.equal(short.policy.requests.length, 0);
    }
  });

  it('shares no stream, also between equal contexts', async () => {
    for (const protocol of [PAIR, CHAIN, PARALLEL, TWICE]) {
      const policy = new ScriptedPolicy(() => 'the same');
      const made = world(protocol, { policy, commonRandomNumbers: false });
      const messages = allNodes(await grown(made, [3, 3, 2, 2], [FIRST, SECOND]));
      assert.ok(new Set(messages.map(({ contextKey }) => contextKey)).size < messages.length / 2);
      assert.equal(new Set(messages.map(({ streamKey }) => streamKey)).size, messages.length);
      assert.equal(policy.requests.length, messages.length, 'everything was asked for');
    }
  });

  it('continues alternatives on the numbers of the episode where numbers are shared', async () => {
    const roots = await grown(world(CHAIN), [3, 2, 2, 2]);
    const byPosition = Map.groupBy(allNodes(roots), ({ position }) => position);
    for (const [position, messages] of byPosition) {
      const continuing = messages.filter(({ replay }) => replay !== null);
      const own = spineOf(roots)[position];
      assert.ok(continuing.every(({ streamKey }) => streamKey === own?.streamKey));
    }
  });

  it('is the same whatever it is grown beside', async () => {
    const made = (): World => world(CHAIN, { commonRandomNumbers: false });
    const alone = await grown(made(), [2, 3, 2, 2], [SECOND]);
    const together = await grown(made(), [2, 3, 2, 2], [FIRST, SECOND]);
    const said = (messages: readonly TreeMessage[]): unknown =>
      allNodes(messages).map(({ answer, streamKey }) => [answer.text, streamKey]);
    assert.deepEqual(said(alone), said(together.slice(2)));
  });
});
