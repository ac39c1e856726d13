import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Message } from '../../../../src/domain/message.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import {
  filledStore,
  inputErrorLike,
  INSTANCE,
  newBucket,
  newCredit,
  newMessage,
  newEpisode,
  numbersFrom,
  OTHER_INSTANCE,
  RUN,
} from '../helpers.ts';

const GROUP = { run: RUN, phase: 'train', iteration: 1, problem: INSTANCE.uidSha } as const;

/** The test's own record of a tree: what the store should say about it is worked out from this by plain recursion. */
interface Made {
  readonly id: number;
  readonly siblingIndex: number;
  readonly children: Made[];
  readonly returns: (number | null)[];
}

/**
 * A random forest whose siblings are stored in a mixed-up order, with an episode at every leaf, a fifth of them masked.
 */
function makeForest(store: StoreWriter, size: number, seed: number): Made[] {
  const below = numbersFrom(seed);
  const roots: Made[] = [];
  const all: Made[] = [];
  store.transaction(() => {
    for (let i = 0; i < size; i++) {
      const parent = i < 3 ? undefined : all[below(all.length)];
      const siblings = parent?.children ?? roots;
      // New siblings come before or after the ones already there.
      const siblingIndex = below(2) === 0 ? siblings.length + 100 : 100 - siblings.length;
      const id = store.insertMessage(
        newMessage({
          parent: parent?.id ?? null,
          siblingIndex,
          text: `message ${i}`,
          position: parent === undefined ? 0 : 1,
        }),
      );
      const made = { id, siblingIndex, children: [], returns: [] };
      siblings.push(made);
      all.push(made);
    }
    for (const leaf of all.filter((made) => made.children.length === 0)) {
      const value = below(5) === 0 ? null : below(8) / 8;
      leaf.returns.push(value);
      store.insertEpisode(newEpisode(leaf.id, value));
    }
  });
  return roots;
}

function walk(forest: readonly Made[]): Made[] {
  return forest
    .toSorted((a, b) => a.siblingIndex - b.siblingIndex || a.id - b.id)
    .flatMap((made) => [made, ...walk(made.children)]);
}

function expectedOutcome(made: Made): { return: number | null; leaves: number } {
  const scored = walk([made])
    .flatMap((one) => one.returns)
    .filter((value) => value !== null);
  return {
    return: scored.length === 0 ? null : scored.reduce((sum, value) => sum + value, 0) / scored.length,
    leaves: scored.length,
  };
}

const shown = ({ id, return: value, leaves }: Message): unknown => ({ id, return: value, leaves });

test('a transcript comes in depth-first order with the mean return below each message, in windows that fit together', (t) => {
  const store = filledStore(t);
  const expected = walk(makeForest(store, 400, 11)).map((made) => ({ id: made.id, ...expectedOutcome(made) }));
  assert.ok(expected.some((one) => one.return === null) && expected.some((one) => one.leaves > 50));
  const reader = openStoreForReading(store.path);
  t.after(() => reader.close());
  const whole = reader.transcript({ ...GROUP, offset: 0, limit: 1000 });
  assert.equal(whole.total, 400);
  assert.deepEqual(whole.messages.map(shown), expected);
  const windows = [0, 37, 74, 111, 390].map((offset) => reader.transcript({ ...GROUP, offset, limit: 37 }));
  assert.deepEqual(
    windows.map(({ total, messages }) => [total, messages.map(shown)]),
    [0, 37, 74, 111, 390].map((offset) => [400, expected.slice(offset, offset + 37)]),
  );
  assert.deepEqual(reader.transcript({ ...GROUP, iteration: 2, offset: 0, limit: 5 }), { total: 0, messages: [] });
});

test('a transcript holds 10,000 messages and answers for any window', (t) => {
  const store = filledStore(t);
  const expected = walk(makeForest(store, 10_000, 3)).map((made) => made.id);
  for (const offset of [0, 5000, 9990]) {
    const { total, messages } = store.transcript({ ...GROUP, offset, limit: 50 });
    assert.equal(total, 10_000);
    assert.deepEqual(
      messages.map((message) => message.id),
      expected.slice(offset, offset + 50),
    );
  }
});

test('what is appended later is seen by a reader that has shown the tree before', (t) => {
  const store = filledStore(t);
  const reader = openStoreForReading(store.path);
  t.after(() => reader.close());
  const list = (): unknown[] => reader.transcript({ ...GROUP, offset: 0, limit: 10 }).messages.map(shown);
  const root = store.insertMessage(newMessage());
  assert.deepEqual(list(), [{ id: root, return: null, leaves: 0 }]);
  const leaf = store.insertMessage(newMessage({ parent: root }));
  assert.deepEqual(list(), [
    { id: root, return: null, leaves: 0 },
    { id: leaf, return: null, leaves: 0 },
  ]);
  store.insertEpisode(newEpisode(leaf, 0.5));
  assert.deepEqual(list(), [
    { id: root, return: 0.5, leaves: 1 },
    { id: leaf, return: 0.5, leaves: 1 },
  ]);
  store.insertEpisode(newEpisode(leaf, null));
  store.insertEpisode(newEpisode(leaf, 1));
  assert.deepEqual(list(), [
    { id: root, return: 0.75, leaves: 2 },
    { id: leaf, return: 0.75, leaves: 2 },
  ]);
});

test('what was read in a transaction that is undone is not remembered', (t) => {
  const store = filledStore(t);
  const undo = new Error('undo');
  assert.throws(
    () =>
      store.transaction(() => {
        const root = store.insertMessage(newMessage());
        store.insertMessage(newMessage({ parent: root, siblingIndex: 1 }));
        store.insertMessage(newMessage({ parent: root, siblingIndex: 0 }));
        assert.deepEqual(
          store.transcript({ ...GROUP, offset: 0, limit: 9 }).messages.map((message) => message.id),
          [1, 3, 2],
        );
        throw undo;
      }),
    undo,
  );
  // The same ids come again, for other messages.
  for (const siblingIndex of [0, 1, 2]) {
    store.insertMessage(newMessage({ siblingIndex }));
  }
  assert.deepEqual(
    store.transcript({ ...GROUP, offset: 0, limit: 9 }).messages.map((message) => message.id),
    [1, 2, 3],
  );
});

/**
 * A training path of three messages, and a replay of its second: a fresh alternative and a continuation of the
 * original.
 */
function replayedPath(t: TestContext): {
  store: StoreWriter;
  ids: Record<'root' | 'clicked' | 'leaf' | 'fresh' | 'freshLeaf' | 'again', number>;
} {
  const store = filledStore(t);
  const root = store.insertMessage(newMessage());
  const clicked = store.insertMessage(newMessage({ parent: root, position: 1, role: 'actor' }));
  const leaf = store.insertMessage(newMessage({ parent: clicked, position: 2 }));
  store.insertEpisode(newEpisode(leaf, 1));
  const bucket = store.insertBucket(newBucket({ origin: 'request', message: clicked }));
  const replay = { phase: 'replay', iteration: 1 } as const;
  const fresh = store.insertMessage(
    newMessage({ ...replay, parent: root, bucket, siblingIndex: 1, position: 1, role: 'actor' }),
  );
  const freshLeaf = store.insertMessage(newMessage({ ...replay, parent: fresh, position: 2 }));
  const again = store.insertMessage(newMessage({ ...replay, parent: clicked, position: 2 }));
  store.insertEpisode(newEpisode(freshLeaf, 0, replay));
  store.insertEpisode(newEpisode(again, 0, replay));
  return { store, ids: { root, clicked, leaf, fresh, freshLeaf, again } };
}

test('a replay leaves the transcript and the return of the messages it began at as they were', (t) => {
  const { store, ids } = replayedPath(t);
  const trained = store.transcript({ ...GROUP, offset: 0, limit: 10 }).messages;
  assert.deepEqual(
    trained.map(shown),
    [ids.root, ids.clicked, ids.leaf].map((id) => ({ id, return: 1, leaves: 1 })),
  );
  const replayed = store.transcript({ ...GROUP, phase: 'replay', offset: 0, limit: 10 }).messages;
  // The continuation of the original (sibling 0) and the fresh alternative (sibling 1) are the roots of what the
  // request added.
  assert.deepEqual(
    replayed.map((message) => message.id),
    [ids.again, ids.fresh, ids.freshLeaf],
  );
  assert.deepEqual(
    replayed.map((message) => message.return),
    [0, 0, 0],
  );
});

test('children are all that continue a message, and a chain leads from the root to any message', (t) => {
  const { store, ids } = replayedPath(t);
  assert.deepEqual(
    store.children(ids.root).map((message) => message.id),
    [ids.clicked, ids.fresh],
  );
  assert.deepEqual(
    store.children(ids.clicked).map((message) => message.id),
    [ids.leaf, ids.again],
  );
  assert.deepEqual(store.children(ids.leaf), []);
  assert.deepEqual(
    store.chain(ids.freshLeaf).map((message) => message.id),
    [ids.root, ids.fresh, ids.freshLeaf],
  );
  assert.deepEqual(store.chain(ids.root), [store.message(ids.root)]);
  assert.throws(() => store.chain(999), inputErrorLike(/no message 999/));
});

test('problems do not mix', (t) => {
  const store = filledStore(t);
  const mine = store.insertMessage(newMessage());
  const other = store.insertMessage(newMessage({ problem: OTHER_INSTANCE.uidSha }));
  store.insertEpisode(newEpisode(other, 1, { problem: OTHER_INSTANCE.uidSha }));
  assert.deepEqual(store.transcript({ ...GROUP, offset: 0, limit: 9 }).messages.map(shown), [
    { id: mine, return: null, leaves: 0 },
  ]);
  assert.deepEqual(shown(store.message(other)), { id: other, return: 1, leaves: 1 });
});

test('a message shows the headline of its pool, and beside it what training learned from it', (t) => {
  const store = filledStore(t);
  const own = store.insertBucket(newBucket());
  const id = store.insertMessage(newMessage({ bucket: own }));
  const sibling = store.insertMessage(newMessage({ bucket: own, siblingIndex: 1, text: '7+12' }));
  store.insertCredit(own, id, newCredit(0.25, { estimator: 'magrpo' }));
  store.insertCredit(own, id, newCredit(0.5));
  assert.deepEqual(
    [store.message(id).credit, store.message(id).trainingCredit],
    [null, newCredit(0.25, { estimator: 'magrpo' })],
    'the first record is the one that was learned from',
  );
  setHeadline(store.path, id, headline(0.125));
  setHeadline(store.path, sibling, headline(-0.5));
  assert.deepEqual(store.message(id).credit, headline(0.125));
  assert.deepEqual([store.message(sibling).credit, store.message(sibling).trainingCredit], [headline(-0.5), null]);
  // A message of no bucket shows that of its context, weights and temperature.
  const evaluated = store.insertMessage(newMessage({ phase: 'evaluate', text: '7+12' }));
  assert.deepEqual(store.message(evaluated).credit, headline(-0.5));
  const hotter = store.insertMessage(
    newMessage({ phase: 'evaluate', text: '7+12', sampling: { temperature: 2, topP: 1, topK: 0, maxNewTokens: 8 } }),
  );
  assert.equal(store.message(hotter).credit, null);
});

test('many trees can be read in turn', (t) => {
  const store = filledStore(t);
  for (let iteration = 1; iteration <= 20; iteration++) {
    const id = store.insertMessage(newMessage({ iteration }));
    store.insertEpisode(newEpisode(id, iteration, { iteration }));
  }
  for (const iteration of [1, 20, 7, 1, 20]) {
    assert.deepEqual(
      store.transcript({ ...GROUP, iteration, offset: 0, limit: 5 }).messages.map((message) => message.return),
      [iteration],
    );
  }
});
