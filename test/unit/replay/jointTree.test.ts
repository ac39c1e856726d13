/** Messages of MAGRPO's rollout trees, replayed: three turns with feedback between them, in both joint modes. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { BucketView, Replay } from '../../../src/domain/replay.ts';
import { growJoint } from '../../../src/replay/growJoint.ts';
import { TERMINATION } from '../../../src/replay/jointTree.ts';
import { recordTrainingTree } from '../../../src/replay/recordTree.ts';
import { replayMessage } from '../../../src/replay/replayMessage.ts';
import type { TreeMessage } from '../../../src/replay/tree.ts';
import { verifyReplays } from '../../../src/replay/verify.ts';
import type { StoreWriter } from '../../../src/store/write/writer.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { held } from '../../support/held.ts';
import {
  allNodes,
  CountingEvaluator,
  problems,
  LOO,
  NEVER,
  ROUND,
  RUN,
  SAMPLING,
  starts,
  storeFor,
  world,
} from './helpers.ts';

const ONE = problems(1);
const DISCOUNT = 0.5;

/** Every other text is right. */
const isRight = (text: string): 0 | 1 => (Number(/\d+/.exec(text)?.[0] ?? 1) % 2 === 0 ? 1 : 0);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

interface Given {
  /** True: no node has a second turn. */
  readonly ends?: boolean;
  /** What the rounds have beside their turns. */
  readonly rounds?: object;
}

interface Scene {
  readonly messages: readonly TreeMessage[];
  readonly store: StoreWriter;
  readonly replay: (message: number) => Promise<BucketView>;
  readonly assertVerified: () => Promise<void>;
}

/** A stored tree with two messages of each role at each node, of which those of `right` are scored. */
async function scene(
  t: TestContext,
  mode: 'align' | 'cross',
  { ends = false, rounds = {} }: Given = {},
): Promise<Scene> {
  const protocol = parseProtocol(
    JSON.stringify({
      name: 'sides',
      roles: ['left', 'right'].map((role) => ({ role, prompt: `Be ${role}.` })),
      scored: ['right'],
      rounds: { turns: 3, discount: DISCOUNT, environment: 'feedback', ...rounds },
    }),
    'sides.json',
  );
  const evaluator = new CountingEvaluator(isRight);
  const { settings, policy } = world(protocol, { evaluator });
  const stop = (): { reason: string; json: null } | null => (ends ? { reason: 'It ends.', json: null } : null);
  const roots = await growJoint(settings, starts(ONE), { generations: 2, mode, stop }, NEVER);
  const store = storeFor(t, ONE);
  recordTrainingTree(store, roots, protocol, ROUND, LOO);
  const rules = { protocol, evaluator, returnBound: 10 };
  return {
    messages: allNodes(roots),
    store,
    replay: (message) =>
      replayMessage(
        { message, alternatives: 3, replays: 2, text: null },
        { store, ...rules, render: renderPlain, policy, sampling: SAMPLING, seed: 5, credit: LOO },
        { signal: NEVER.signal, onProgress: () => undefined },
      ),
    async assertVerified() {
      const replays = store.replaysOfRun(RUN, 0, 10_000);
      const { identical, firstReason, firstDifference } = await verifyReplays(
        store,
        replays,
        () => Promise.resolve(held({ policy })),
        rules,
        NEVER,
      );
      assert.deepEqual([identical, firstReason, firstDifference], [replays.length, null, null]);
    },
  };
}

/** The return of a replay, from the texts of its episode. */
function returnBySaid(store: StoreWriter, { leaf }: Replay): number {
  const said = store.chain(leaf);
  assert.deepEqual(
    said.map(({ position }) => position),
    [0, 1, 2, 3, 4, 5],
  );
  return said.reduce(
    (sum, { position, text }) => sum + (position % 2 === 1 ? DISCOUNT ** Math.floor(position / 2) * isRight(text) : 0),
    0,
  );
}

describe('a message of any turn of a rollout tree', () => {
  for (const [mode, messages] of [
    ['align', 4 * (1 + 2 + 4)],
    ['cross', 6 * (1 + 4 + 16)],
  ] as const) {
    it(`is replayed from its branch to the last turn, credited by leave-one-out, and verifies: ${mode}`, async (t) => {
      const { messages: grown, store, replay, assertVerified } = await scene(t, mode);
      assert.equal(grown.length, messages);
      let credited = 0;
      for (let position = 0; position < 6; position++) {
        // The last branch is one that shares no message with the first.
        const { stored = assert.fail() } = grown.findLast((message) => message.position === position) ?? assert.fail();
        const { id, alternatives } = await replay(stored);
        const replays = store.replaysOfBucket(id);
        const before = store.chain(stored).slice(0, -1);
        const returns = alternatives.map(({ message }) =>
          replays
            .filter(({ alternative }) => alternative === message)
            .map((one) => {
              assert.deepEqual(store.chain(one.leaf).slice(0, before.length), before);
              assert.equal(one.return, returnBySaid(store, one));
              return one.return;
            }),
        );
        for (const [index, { bucketCredit }] of alternatives.entries()) {
          const wanted = mean(returns[index] ?? []) - mean(returns.toSpliced(index, 1).flat());
          assert.ok(Math.abs((bucketCredit?.value ?? NaN) - wanted) < 1e-12);
          credited += wanted === 0 ? 0 : 1;
        }
      }
      assert.ok(credited >= 6, `${credited} credits are not 0`);
      await assertVerified();
    });
  }
});

describe('a message with which a node of the tree ended', () => {
  for (const mode of ['align', 'cross'] as const) {
    it(`is continued to the last turn, as its alternatives are: ${mode}`, async (t) => {
      const { messages, store, replay, assertVerified } = await scene(t, mode, { ends: true });
      const { stored = assert.fail() } = messages.find(({ position }) => position === 1) ?? assert.fail();
      assert.deepEqual(
        store.environmentEvents(stored, 'after').map(({ event }) => event.source),
        [TERMINATION],
      );
      const { id } = await replay(stored);
      const replays = store.replaysOfBucket(id);
      assert.equal(replays.length, 4 * 2);
      for (const one of replays) {
        assert.equal(one.return, returnBySaid(store, one));
      }
      await assertVerified();
    });
  }

  for (const closing of [{}, { closing: 'last' }]) {
    it(`ends there where its episode would have ended: ${JSON.stringify(closing)}`, async (t) => {
      const { messages, store, replay, assertVerified } = await scene(t, 'cross', {
        ends: true,
        rounds: { until: 1, ...closing },
      });
      const solved = messages.filter(({ position, answer }) => position === 1 && isRight(answer.text) === 1);
      assert.ok(solved.length > 0);
      for (const { stored = assert.fail() } of solved) {
        const { id } = await replay(stored);
        const own = store.replaysOfBucket(id).filter(({ alternative }) => alternative === stored);
        assert.deepEqual(
          own.map(({ leaf }) => leaf),
          [stored],
        );
      }
      await assertVerified();
    });
  }
});
