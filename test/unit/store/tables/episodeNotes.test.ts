import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { HEADLINE_RULE } from '../../../../src/engine/recipe/headlines.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { salvageStore } from '../../../../src/store/repair/salvage.ts';
import type { StoreWriter } from '../../../../src/store/types.ts';
import { INSTANCE, RUN, filledStore, newEpisode, newMessage, rawConnection, temporaryFolder } from '../helpers.ts';

const AT = { phase: 'evaluate', iteration: 2 } as const;

const score = (store: StoreWriter, leaf: number, value: number | null): void =>
  store.insertEpisodeNote({ run: RUN, leaf, score: value, note: '', tags: [], author: 'you', createdAt: '2026' });

/** A recorded episode of two messages without a score. */
function recorded(store: StoreWriter): number {
  return store.insertMessage(newMessage({ ...AT, parent: store.insertMessage(newMessage(AT)), position: 1 }));
}

/** What is kept of the round for the list of problems. */
const rounds = (t: TestContext, store: StoreWriter): unknown[] =>
  rawConnection(t, store.path).prepare('SELECT episodes, returns, total FROM problem_round ORDER BY 1').all();

test('an evaluator that failed stays failed, and training learns from what it had', (t) => {
  const store = filledStore(t);
  const bucket = store.insertMessage(newMessage(AT));
  store.insertEpisode(newEpisode(bucket, null, AT));
  score(store, bucket, 1);
  const trained = store.insertMessage(newMessage());
  score(store, trained, 1);
  assert.deepEqual([store.message(bucket).return, store.message(trained).return], [null, null]);
  assert.equal(store.episodeNote(bucket)?.isReturn, false);
  assert.equal(store.maskedEpisodes(RUN), 1);
  assert.deepEqual(store.learnedReturns(RUN, 1), []);
  assert.equal(store.countEpisodes({ run: RUN, phase: 'train', iteration: 1 }), 0);
});

test('a score of the log that comes later is the return', (t) => {
  const store = filledStore(t);
  const leaf = recorded(store);
  score(store, leaf, 0);
  assert.deepEqual(rounds(t, store), [{ episodes: 1, returns: 1, total: 0 }]);
  store.insertEpisode(newEpisode(leaf, 1, AT));
  assert.deepEqual(
    [store.message(leaf).return, store.message(leaf).leaves, store.message(leaf).byHand],
    [1, 1, undefined],
  );
  assert.deepEqual(rounds(t, store), [{ episodes: 1, returns: 1, total: 1 }]);
  score(store, leaf, 0.5);
  assert.equal(store.message(leaf).return, 1);
});

test('an episode that goes on after its score has none; a replay of its last message changes nothing', (t) => {
  const store = filledStore(t);
  const leaf = recorded(store);
  score(store, leaf, 1);
  store.insertMessage(newMessage({ phase: 'replay', parent: leaf }));
  assert.equal(store.message(leaf).return, 1);
  const next = store.insertMessage(newMessage({ ...AT, parent: leaf, position: 2 }));
  assert.deepEqual([store.message(leaf).return, store.message(next).return], [null, null]);
  assert.deepEqual(rounds(t, store), []);
  assert.equal(store.outline({ run: RUN, ...AT, problem: INSTANCE.uidSha }).messages.length, 3);
});

test('a transcript has another version once an episode of its run is noted', (t) => {
  const store = filledStore(t);
  const leaf = recorded(store);
  const versionOf = (): string => store.outline({ run: RUN, ...AT, problem: INSTANCE.uidSha }).version;
  const before = versionOf();
  score(store, leaf, 1);
  assert.notEqual(versionOf(), before);
});

test('a saved copy of a store has its notes, and the returns that follow from them', (t) => {
  const store = filledStore(t);
  const leaf = recorded(store);
  score(store, leaf, 0);
  score(store, leaf, 1);
  const copy = `${temporaryFolder(t)}/copy.sqlite`;
  salvageStore(store.path, copy, HEADLINE_RULE);
  const saved = openStoreForReading(copy);
  t.after(() => saved.close());
  assert.deepEqual(saved.episodeNote(leaf), store.episodeNote(leaf));
  assert.deepEqual([saved.message(leaf).return, saved.message(leaf).byHand], [1, true]);
});
