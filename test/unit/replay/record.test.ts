import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import {
  hashStoredMessage,
  recordSubtree,
  recordTrainingTree,
  hashReplay,
  type CreditedGroup,
  type SealedMessage,
  type SealedReplay,
} from '../../../src/replay/recordTree.ts';
import { countCalls, findLeaves, computeReturn, type TreeMessage } from '../../../src/replay/tree.ts';
import type { StoreWriter } from '../../../src/store/write/writer.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import {
  allNodes,
  CHECKPOINTS,
  CountingEvaluator,
  digest,
  problems,
  LOO,
  NEVER,
  PAIR,
  PARALLEL,
  ROUND,
  RUN,
  starts,
  storeFor,
  world,
  type World,
} from './helpers.ts';

const ALL = problems(3);

interface Recorded {
  readonly store: StoreWriter;
  readonly roots: TreeMessage[];
  readonly groups: CreditedGroup[];
}

async function recorded(t: TestContext, made: World, fanout: readonly number[]): Promise<Recorded> {
  const { protocol } = made.settings;
  const store = storeFor(t, ALL);
  const roots = await growEpisodes(made.settings, starts(ALL), fanout, NEVER);
  const width = fanout[0] ?? 1;
  const groups = ALL.flatMap((_, index) =>
    recordTrainingTree(store, roots.slice(index * width, (index + 1) * width), protocol, ROUND, LOO),
  );
  return { store, roots, groups };
}

const stored = (message: TreeMessage): number => message.stored ?? assert.fail('not stored');
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const returnsOf = (message: TreeMessage): number[] => findLeaves(message).flatMap((leaf) => computeReturn(leaf) ?? []);
const near = (actual: number | undefined, expected: number): void =>
  assert.ok(actual !== undefined && Math.abs(actual - expected) < 1e-12, `${String(actual)} is not ${expected}`);
const CASES: readonly (readonly [Protocol, readonly number[]])[] = [
  [PAIR, [2, 4]],
  [PARALLEL, [2, 1, 2, 2]],
  [CHECKPOINTS, [3, 2]],
];

describe('recordTrainingTree', () => {
  it('stores every message once, with what it was given', async (t) => {
    const { store, roots } = await recorded(t, world(PAIR), [2, 4]);
    assert.equal(store.counts().messages, 30);
    for (const message of allNodes(roots)) {
      const row = store.fullMessage(stored(message));
      assert.deepEqual(
        [
          row.text,
          row.context,
          row.contextKey,
          row.streamKey,
          row.siblingIndex,
          row.parent,
          row.problem,
          row.role,
          row.position,
        ],
        [
          message.answer.text,
          message.context,
          message.contextKey,
          message.streamKey,
          message.sibling,
          message.parent === null ? null : stored(message.parent),
          message.problem.uidSha,
          message.position === 0 ? 'reasoner' : 'actor',
          message.position,
        ],
      );
      assert.deepEqual(
        [row.tokens, row.logprobs, row.promptTokens, row.sampling.maxNewTokens],
        [message.answer.tokens, message.answer.logprobs, message.answer.prompt.length, message.position === 0 ? 7 : 40],
      );
    }
  });

  it('makes a bucket of every group of siblings, with its replays', async (t) => {
    const { store, roots } = await recorded(t, world(PAIR), [2, 4]);
    assert.deepEqual([store.countBuckets({ run: RUN, origin: 'training' }), store.countReplays(RUN)], [9, 3 * (8 + 8)]);
    for (const siblings of [
      ...ALL.map((_, index) => roots.slice(2 * index, 2 * index + 2)),
      ...roots.map(({ children }) => children),
    ]) {
      const [first] = siblings;
      assert.ok(first);
      const [bucket] = store.bucketsFor(stored(first));
      assert.deepEqual(
        [bucket?.contextKey, bucket?.problem, bucket?.role],
        [first.contextKey, first.problem.uidSha, first.position === 0 ? 'reasoner' : 'actor'],
      );
      assert.deepEqual(
        bucket?.alternatives.map(({ message, index, returns }) => ({ message, index, returns })),
        siblings.map((message) => ({
          message: stored(message),
          index: message.sibling,
          returns: findLeaves(message).map((leaf) => computeReturn(leaf)),
        })),
      );
    }
  });

  it('credits each alternative with its mean return less that of all replays of the others', async (t) => {
    for (const [protocol, fanout] of CASES) {
      const { store, roots, groups } = await recorded(t, world(protocol), fanout);
      let credited = 0;
      for (const { messages, bucket } of groups) {
        assert.ok(bucket !== null);
        const credits = new Map(store.credits(bucket).map(({ message, value }) => [message, value]));
        for (const grown of messages) {
          const others = messages.filter((other) => other !== grown).flatMap(returnsOf);
          if (messages.length > 1) {
            near(credits.get(stored(grown)), mean(returnsOf(grown)) - mean(others));
          } else {
            assert.equal(credits.size, 0, 'a lone alternative has nothing to be compared with');
          }
          near(store.message(stored(grown)).return ?? undefined, mean(returnsOf(grown)));
          credited += credits.size > 0 ? 1 : 0;
        }
      }
      assert.equal(
        groups.reduce((total, { messages }) => total + messages.length, 0),
        allNodes(roots).length,
      );
      assert.ok(credited > 0);
      assert.ok(
        groups.some(({ credits }) => credits.some((credit) => credit !== null && credit.value !== 0)),
        'not all credits are 0',
      );
    }
  });

  it('counts each evaluator call once among the replays of an alternative', async (t) => {
    for (const [protocol, fanout] of CASES) {
      const made = world(protocol);
      const { store, roots, groups } = await recorded(t, made, fanout);
      const calls = new Map(
        groups.flatMap(({ bucket }) =>
          store.bucketView(bucket ?? 0).alternatives.map((one) => [one.message, one.evaluatorCalls]),
        ),
      );
      for (const message of allNodes(roots)) {
        assert.equal(calls.get(stored(message)), countCalls(message), protocol.name);
      }
      assert.equal(
        roots.reduce((total, root) => total + countCalls(root), 0),
        made.evaluator.calls,
      );
      for (const { bucket, credits } of groups) {
        for (const credit of credits) {
          if (credit !== null) {
            assert.equal(
              credit.evaluatorCalls,
              store.bucketView(bucket ?? 0).alternatives.reduce((total, one) => total + one.evaluatorCalls, 0),
            );
          }
        }
      }
    }
  });

  it('numbers the replays of an alternative by its leaves', async (t) => {
    const { store, roots } = await recorded(t, world(PARALLEL), [2, 1, 2, 2]);
    for (const message of allNodes(roots)) {
      const [bucket] = store.bucketsFor(stored(message));
      const replays = store
        .replaysOfBucket(bucket?.id ?? 0)
        .filter(({ alternative }) => alternative === message.stored);
      assert.deepEqual(
        replays.map(({ replayIndex, leaf }) => [replayIndex, leaf]),
        findLeaves(message).map((leaf, index) => [index, leaf.stored]),
      );
    }
  });

  it('gives each replay a hash that its rows give again, and that changes with any of them', async (t) => {
    const { store, roots } = await recorded(t, world(PAIR), [2, 2]);
    const [leaf] = roots.flatMap(findLeaves);
    const replay = store.replaysOfBucket(store.bucketsFor(stored(roots[0] ?? assert.fail()))[0]?.id ?? 0)[0];
    assert.ok(leaf?.parent && replay);
    const [first, second] = [store.fullMessage(stored(leaf.parent)), store.fullMessage(stored(leaf))];
    assert.equal(hashReplay([hashStoredMessage(first), hashStoredMessage(second)], replay), replay.tokenHash);
    const other = 'ab'.repeat(16);
    const messages: readonly Partial<SealedMessage>[] = [
      { text: `${second.text}.` },
      { tokens: Int32Array.of(1) },
      { logprobs: second.logprobs.map((value) => value * 1.0001) },
      { contextKey: '1' },
      { streamKey: other },
      { finish: 'length' },
      { sampling: { ...second.sampling, temperature: 0.99 } },
      { sampling: { ...second.sampling, topP: 0.9 } },
      { sampling: { ...second.sampling, topK: 1 } },
      { sampling: { ...second.sampling, maxNewTokens: 41 } },
      { siblingIndex: 7 },
      { position: 0 },
      { problem: 'cd'.repeat(32) },
    ];
    const replays: readonly Partial<SealedReplay>[] = [
      { return: null },
      { return: (replay.return ?? 0) + 1 },
      { replayIndex: 1 },
      { evaluatorCalls: 9 },
      { environment: 2 },
    ];
    const hashes = [
      ...messages.map((change) =>
        hashReplay([hashStoredMessage(first), hashStoredMessage({ ...second, ...change })], replay),
      ),
      ...replays.map((change) =>
        hashReplay([hashStoredMessage(first), hashStoredMessage(second)], { ...replay, ...change }),
      ),
      hashReplay([hashStoredMessage(second), hashStoredMessage(first)], replay),
      hashReplay([hashStoredMessage(second)], replay),
    ];
    assert.equal(new Set([replay.tokenHash, ...hashes]).size, hashes.length + 1);
  });

  it('keeps masked returns null and gives no credit where only one alternative has any', async (t) => {
    const made = world(PAIR, {
      evaluator: new CountingEvaluator((text) => (digest(text) % 3 === 0 ? null : digest(text) % 2 === 0 ? 0 : 1)),
    });
    const { store, groups } = await recorded(t, made, [2, 2]);
    let [masked, uncredited] = [0, 0];
    for (const { messages, bucket } of groups) {
      const view = store.bucketView(bucket ?? 0);
      const measured = messages.filter((message) => returnsOf(message).length > 0);
      for (const [index, message] of messages.entries()) {
        assert.deepEqual(
          view.alternatives[index]?.returns,
          findLeaves(message).map((leaf) => computeReturn(leaf)),
        );
        masked += findLeaves(message).filter((leaf) => computeReturn(leaf) === null).length;
        const { bucketCredit: credit } = view.alternatives[index] ?? { bucketCredit: null };
        assert.equal(credit === null, measured.length < 2 || !measured.includes(message));
        if (credit === null) {
          uncredited++;
        } else {
          near(
            credit.value,
            mean(returnsOf(message)) - mean(messages.filter((other) => other !== message).flatMap(returnsOf)),
          );
        }
      }
    }
    assert.ok(masked > 0 && uncredited > 0, 'the script masks some');
  });

  it('leaves nothing behind when an append fails midway, and can go on afterwards', async (t) => {
    const made = world(PAIR);
    const store = storeFor(t, ALL);
    const roots = await growEpisodes(made.settings, starts(ALL), [2, 4], NEVER);
    const before = store.counts();
    let replays = 0;
    const breaking: StoreWriter = {
      ...store,
      insertReplay: (replay) => {
        if (++replays === 20) {
          throw new Error('the disk is gone');
        }
        return store.insertReplay(replay);
      },
    };
    const record = (into: StoreWriter): void => {
      into.transaction(() => {
        for (const index of ALL.keys()) {
          recordTrainingTree(into, roots.slice(2 * index, 2 * index + 2), PAIR, ROUND, LOO);
        }
      });
    };
    assert.throws(() => record(breaking), /the disk is gone/);
    assert.deepEqual(store.counts(), before);
    assert.equal(store.countReplays(RUN), 0);
    record(store);
    assert.deepEqual([store.counts().messages, store.countReplays(RUN)], [30, 48]);
  });
});

describe('recordSubtree', () => {
  it('stores an episode for each leaf and no bucket', async (t) => {
    const made = world(CHECKPOINTS);
    const store = storeFor(t, ALL);
    const roots = await growEpisodes(made.settings, starts(ALL), [1, 2], NEVER);
    recordSubtree(store, roots, CHECKPOINTS, { ...ROUND, phase: 'evaluate', iteration: 2 });
    assert.deepEqual([store.counts().messages, store.counts().episodes, store.counts().buckets], [9, 6, 0]);
    const episodes = store.episodes({ run: RUN, phase: 'evaluate', iteration: 2, offset: 0, limit: 10 });
    assert.deepEqual(
      episodes.map(({ leaf, return: value, rule, evaluatorCalls }) => ({ leaf, value, rule, evaluatorCalls })),
      roots
        .flatMap(findLeaves)
        .map((leaf) => ({ leaf: stored(leaf), value: computeReturn(leaf), rule: 'digest, digest', evaluatorCalls: 2 })),
    );
  });
});
