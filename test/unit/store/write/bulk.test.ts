/** What is appended in bulk is what single appends store: every row, the words that are searched, and the schema. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { IMPORTED } from '../../../../src/domain/episode.ts';
import { NOTHING_MEASURED } from '../../../../src/domain/message.ts';
import type { StoreWriter } from '../../../../src/store/types.ts';
import {
  filledStore,
  INSTANCE,
  newEpisode,
  newMessage,
  OTHER_INSTANCE,
  rawConnection,
  storeErrorLike,
} from '../helpers.ts';

/** Messages of two problems, some with texts and contexts that are there, with events, measurements and returns. */
function append(store: StoreWriter, begin: number): void {
  store.insertProblems([INSTANCE, OTHER_INSTANCE, { ...INSTANCE, uid: 'u', uidSha: String(begin).padStart(64, 'c') }]);
  for (let at = begin; at < begin + 20; at++) {
    const problem = at % 2 === 0 ? INSTANCE.uidSha : OTHER_INSTANCE.uidSha;
    const id = store.insertMessage(
      newMessage({
        problem,
        text: `word${at % 12} said`,
        context: `asked ${at % 5}`,
        contextKey: String(1000 + (at % 5)),
        promptTokens: at,
        measured: { ...NOTHING_MEASURED, model: 'm', completionTokens: at, seconds: at % 3 === 0 ? null : 0.25 },
      }),
    );
    const event = store.insertEnvironmentEvent({
      run: newMessage().run,
      parent: null,
      previous: null,
      event: {
        kind: 'environment',
        source: 'tool',
        text: `gave ${at}`,
        json: {},
        done: null,
        derived: false,
        streamKey: '',
        closing: false,
      },
      reward: null,
    });
    store.linkEnvironmentEvent(id, 'before', event);
    store.insertEpisode(newEpisode(id, at % 4 === 0 ? null : 1, { problem, phase: 'evaluate', rule: IMPORTED }));
  }
}

/** All rows of all tables, the schema, and who is found by words. */
function contentsOf(db: ReturnType<typeof rawConnection>): unknown {
  const schema = db
    .prepare<[], { name: string; type: string; sql: string }>('SELECT name, type, sql FROM sqlite_schema')
    .all();
  const tables = schema.filter(({ name, type }) => type === 'table' && !name.includes('_search'));
  const found = ['word1', 'word7', 'word11', 'said'].map((word) =>
    db
      .prepare<[string], { rowid: number }>(
        'SELECT rowid FROM message_search WHERE message_search MATCH ? ORDER BY rowid',
      )
      .all(word),
  );
  // How many texts are indexed, and how long they are: one that is indexed twice is found once.
  const counted = ['message_search', 'question_search'].map((index) =>
    db.prepare<[], { block: Buffer }>(`SELECT block FROM ${index}_data WHERE id = 1`).get()?.block.toString('hex'),
  );
  const asked = db.prepare('SELECT rowid FROM question_search ORDER BY rowid').all();
  return {
    rows: Object.fromEntries(tables.map(({ name }) => [name, db.prepare(`SELECT * FROM "${name}"`).all()])),
    schema: schema.map(({ name, sql }) => `${name} ${sql}`).toSorted(),
    found,
    asked,
    counted,
  };
}

it('rows that are appended in bulk are those of single appends, also beside earlier ones', (t) => {
  const [single, bulk] = [filledStore(t), filledStore(t)];
  for (const begin of [0, 8]) {
    single.transaction(() => append(single, begin));
    bulk.bulk(() => append(bulk, begin));
  }
  const [one, other] = [single, bulk].map(({ path }) => contentsOf(rawConnection(t, path)));
  assert.deepEqual(other, one);
});

it('of a bulk that fails nothing is stored, and what guards rows is there again', (t) => {
  const store = filledStore(t);
  const db = rawConnection(t, store.path);
  const before = contentsOf(db);
  assert.throws(
    () =>
      store.bulk(() => {
        append(store, 0);
        throw new RangeError('no');
      }),
    /no/u,
  );
  assert.deepEqual(contentsOf(db), before);
  store.bulk(() => append(store, 0));
  assert.throws(
    () => store.insertEpisode(newEpisode(999_999, 1)),
    storeErrorLike(/refers to one that it does not hold/u),
  );
  assert.throws(() => db.exec("INSERT OR REPLACE INTO text (id, sha256, body) VALUES (1, 'x', 'y')"), /never changed/u);
});
