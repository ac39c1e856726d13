import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { migrateStore, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { QUESTIONS } from '../../../../src/store/tables/questions.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../src/store/write/writer.ts';
import {
  addRun,
  filledStore,
  INSTANCE,
  newMessage,
  newEpisode,
  OTHER_INSTANCE,
  rawConnection,
  temporaryFolder,
} from '../helpers.ts';

/** Two runs that ask the first question, one that asks the second too; nobody says a word of either. */
function asking(t: TestContext): { readonly store: StoreWriter; readonly first: readonly number[] } {
  const store = filledStore(t);
  addRun(store, 'run-2', '2026-02-01');
  const asked = [
    { run: 'run-1', problem: INSTANCE.uidSha, iteration: 1 },
    { run: 'run-1', problem: INSTANCE.uidSha, iteration: 2 },
    { run: 'run-1', problem: OTHER_INSTANCE.uidSha, iteration: 1 },
    { run: 'run-2', problem: INSTANCE.uidSha, iteration: 1 },
  ];
  const first = asked.map((changes) => {
    const plan = store.insertMessage(newMessage({ ...changes, text: 'plan' }));
    const leaf = store.insertMessage(newMessage({ ...changes, parent: plan, role: 'actor', text: 'said' }));
    store.insertEpisode(newEpisode(leaf, 1, changes));
    return plan;
  });
  return { store, first };
}

test('a question is found by the beginnings of its words, with the first message of its newest round, the newest problem first', (t) => {
  const { store, first } = asking(t);
  const found = (query: string, run: string | null = null, limit = 10): (readonly [string, number, number])[] =>
    store.searchQuestions({ query, run, limit }).map(({ run: of, iteration, message }) => [of, iteration, message]);
  const [, second = 0, other = 0, elsewhere = 0] = first;
  assert.deepEqual(found('HOW man'), [
    ['run-2', 1, elsewhere],
    ['run-1', 1, other],
    ['run-1', 2, second],
  ]);
  assert.deepEqual(found('12'), [
    ['run-2', 1, elsewhere],
    ['run-1', 2, second],
  ]);
  assert.deepEqual(found('12', 'run-1'), [['run-1', 2, second]]);
  assert.deepEqual(found('how', null, 1), [['run-2', 1, elsewhere]]);
  assert.deepEqual(store.searchQuestions({ query: '3 4', limit: 1 })[0]?.question, OTHER_INSTANCE.question);
  for (const query of ['said', 'plan', 'ow', '', '  ', '"', '*', "'", 'question:how', '\u0000', '12 absent']) {
    assert.deepEqual(found(query), [], JSON.stringify(query));
  }
  assert.deepEqual(
    [
      store.questionHas(INSTANCE.uidSha, 'how 7'),
      store.questionHas(INSTANCE.uidSha, '3'),
      store.questionHas('00'.repeat(32), 'how'),
    ],
    [true, false, false],
  );
  assert.equal(
    store.searchMessages({ query: 'how', offset: 0, limit: 1 }).total,
    0,
    'a search of messages finds messages',
  );
});

test('the questions of an older store are found once it is up to date', (t) => {
  const path = `${temporaryFolder(t)}/c3.sqlite`;
  const old = rawConnection(t, path);
  migrateStore(old, path, MIGRATIONS.slice(0, MIGRATIONS.indexOf(QUESTIONS)));
  old.exec(
    `INSERT INTO instance (uid_sha, uid, question, answer, source) VALUES ('${INSTANCE.uidSha}', 'x', 'Wie groß?', '1', 's')`,
  );
  old.close();
  const store = openStoreForWriting(path);
  t.after(() => store.close());
  assert.equal(store.questionHas(INSTANCE.uidSha, 'GROSS'), false);
  assert.equal(store.questionHas(INSTANCE.uidSha, 'wie GRO'), true);
});
