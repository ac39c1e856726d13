import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import type { StoreWriter } from '../../../../src/store/types.ts';
import {
  addRun,
  ENVIRONMENT,
  filledStore,
  INSTANCE,
  newBucket,
  newCredit,
  newMessage,
  newEpisode,
  newReplay,
  OTHER_INSTANCE,
  rawConnection,
  RUN,
  storeErrorLike,
} from '../helpers.ts';

const OTHER = 'run-2';
const THIRD = { ...INSTANCE, uid: 'sum-3', uidSha: '70'.repeat(32), question: 'What is heptagon plus one?' };

const sizeOf = (path: string): number => statSync(path).size + statSync(`${path}-wal`).size;

/** A run with a row of each kind; `said` is in the message that only it has. */
function fill(store: StoreWriter, run: string, said: string): void {
  const bucket = store.insertBucket(newBucket({ run }));
  const first = store.insertMessage(newMessage({ run, bucket }));
  const grown = { base: '9007199254740993', baseLength: 16, since: ` and ${said}`, sha256: 'ab' };
  const key = run === RUN ? '7' : '8';
  const leaf = store.insertMessage(
    newMessage({ run, parent: first, context: grown, contextKey: key, text: `${said} it is` }),
  );
  store.insertEpisode(newEpisode(leaf, 1, { run }));
  const replay = store.insertReplay(newReplay(bucket, first, 0, leaf, 1));
  store.insertCredit(bucket, first, newCredit(0.5));
  store.insertVerification({ replay, result: 'identical', detail: '', environment: 1 });
  store.insertLabel({ message: leaf, bucket: null, name: said, note: '', author: 'you', createdAt: '2026' });
  store.insertSpending(run, 'reasoner', { prompt: 3, completion: 4, money: null });
  store.insertRunNote({ run, title: `the ${said} run`, note: 'a note', tags: [said], createdAt: '2026' });
  const recorded = store.insertMessage(newMessage({ run, phase: 'evaluate', iteration: 2, text: 'noted' }));
  store.insertEpisodeNote({
    ...{ run, leaf: recorded, score: 1, note: said, tags: [], author: 'you', createdAt: '2026' },
  });
}

test('a deleted run leaves the store as if it had never been in it, and the file smaller', (t) => {
  const store = filledStore(t);
  addRun(store, OTHER, '2026-01-02T00:00:00.000Z');
  store.insertProblems([THIRD]);
  fill(store, RUN, 'walrus');
  store.insertMessage(newMessage({ problem: THIRD.uidSha, contextKey: '99', context: 'x'.repeat(500_000) }));
  fill(store, OTHER, 'ostrich');
  store.insertMessage(newMessage({ run: OTHER, problem: OTHER_INSTANCE.uidSha }));

  const before = sizeOf(store.path);
  const { bytes, weights } = store.deleteRun(RUN);

  assert.ok(bytes > 400_000, String(bytes));
  assert.ok(sizeOf(store.path) < before, 'on the disk too');
  assert.deepEqual(weights, [], 'the other run has the same weights');
  assert.deepEqual(
    store.runs(0, 9).map(({ id }) => id),
    [OTHER],
  );
  assert.deepEqual(store.counts(), {
    runs: 1,
    instances: 2,
    messages: 4,
    episodes: 1,
    buckets: 1,
    replays: 1,
    texts: 6,
  });
  const found = (query: string): number => store.searchMessages({ query, offset: 0, limit: 9 }).messages.length;
  assert.equal(found('walrus'), 0);
  assert.equal(found('ostrich'), 1);
  assert.equal(found('12'), 2, 'what both said is said by the other still');
  assert.deepEqual(store.searchQuestions({ query: 'heptagon', limit: 9 }), []);
  assert.equal(store.searchQuestions({ query: 'many', limit: 9 }).length > 0, true);
  const said = store.searchMessages({ query: 'ostrich', offset: 0, limit: 1 }).messages[0]?.id ?? 0;
  assert.equal(store.fullMessage(said).context, 'Question: 12 + 7 and ostrich');
  const db = rawConnection(t, store.path);
  assert.deepEqual(db.pragma('foreign_key_check'), []);
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  assert.throws(() => db.exec('DELETE FROM decision'), /never changed/);
  // The same run can come again, with what was shared and what was not.
  addRun(store, RUN, '2026-01-03T00:00:00.000Z');
  store.insertProblems([THIRD]);
  fill(store, RUN, 'walrus');
  assert.equal(found('walrus'), 1);
});

test('the numbers of deleted rows may come again, and stand for what has them now', (t) => {
  const store = filledStore(t);
  addRun(store, OTHER, '2026-01-02T00:00:00.000Z');
  const group = { phase: 'train', iteration: 1, problem: INSTANCE.uidSha } as const;
  const first = store.insertMessage(newMessage());
  const below = store.insertMessage(newMessage({ parent: first }));
  store.insertEpisode(newEpisode(below, 1));
  assert.equal(store.outline({ run: RUN, ...group }).messages[1]?.parent, first);
  store.deleteRun(RUN);
  store.insertProblems([INSTANCE]);
  store.environmentId(ENVIRONMENT);
  assert.equal(store.insertMessage(newMessage({ run: OTHER })), first);
  assert.equal(store.insertMessage(newMessage({ run: OTHER })), below);
  store.insertEpisode(newEpisode(below, 1, { run: OTHER }));
  assert.deepEqual(
    store.outline({ run: OTHER, ...group }).messages.map(({ id, parent }) => [id, parent]),
    [
      [first, null],
      [below, null],
    ],
  );
});

test('a run whose rows another one needs is refused, and nothing is changed', (t) => {
  const store = filledStore(t);
  addRun(store, OTHER, '2026-01-02T00:00:00.000Z');
  const message = store.insertMessage(newMessage());
  store.insertBucket(newBucket({ run: OTHER, message, origin: 'request' }));
  const before = store.counts();
  assert.throws(() => store.deleteRun(RUN), storeErrorLike(/Run run-1 cannot be deleted/, /nothing was changed/));
  assert.deepEqual(store.counts(), before);
  store.insertMessage(newMessage());
});

test("a run is shown with its user's title, note and tags, the last ones that were given", (t) => {
  const store = filledStore(t);
  assert.deepEqual([store.run(RUN).title, store.run(RUN).note, store.run(RUN).tags], ['title of run-1', '', []]);
  store.insertRunNote({ run: RUN, title: 'first', note: 'x', tags: ['a'], createdAt: '2026' });
  store.insertRunNote({ run: RUN, title: 'Rate 3e-4', note: 'the good one', tags: ['paper', 'b'], createdAt: '2026' });
  const { title, note, tags } = store.runs(0, 1)[0] ?? store.run(RUN);
  assert.deepEqual([title, note, tags], ['Rate 3e-4', 'the good one', ['paper', 'b']]);
});
