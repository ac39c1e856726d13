/** The orders of credits in SQL against the functions that define them, and a store that was ranked otherwise. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER } from '../../../../src/domain/problem.ts';
import { distanceFromZero, type Headline } from '../../../../src/shared/credit/headline.ts';
import {
  compareClearness,
  measureClearness,
  compareLowness,
  mayBeLowest,
} from '../../../../src/shared/credit/order.ts';
import { loadSqlite, type Connection } from '../../../../src/store/files/sqlite.ts';
import {
  clearnessSql,
  CREDIT_ORDER,
  lowestFirstSql,
  mayBeLowestSql,
} from '../../../../src/store/tables/creditOrder.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../src/store/write/writer.ts';
import { headline, randomCredits, setHeadlines } from '../../../support/headlines.ts';
import { addRun, addTree, problem, RUN, temporaryStore } from '../../extension/storeFixture.ts';
import { makeEarlier } from '../earlierStore.ts';
import { rawConnection } from '../helpers.ts';

/** The table of headlines alone, with these credits; the message of each is its place. */
function tableOf(t: TestContext, credits: readonly Headline[]): Connection {
  const db = new (loadSqlite())(':memory:');
  t.after(() => db.close());
  db.exec('CREATE TABLE headline (message INTEGER, value REAL, low REAL, high REAL, verdict TEXT) STRICT');
  const insert = db.prepare('INSERT INTO headline VALUES (?, ?, ?, ?, ?)');
  credits.forEach(({ value, low, high, verdict }, message) => insert.run(message, value, low, high, verdict));
  return db;
}

test('what SQL sorts by is what the functions say, over random credits', (t) => {
  for (const seed of [1, 2, 3]) {
    const credits = randomCredits(500, seed);
    const db = tableOf(t, credits);
    const rows = credits.map((credit, id) => ({ id, credit }));
    const ids = (condition: string, order: string): unknown[] =>
      db.prepare(`SELECT message FROM headline WHERE ${condition} ORDER BY ${order}`).pluck().all();
    assert.deepEqual(
      db
        .prepare(`SELECT ${clearnessSql('headline')} FROM headline ORDER BY message`)
        .pluck()
        .all(),
      credits.map(measureClearness),
    );
    assert.deepEqual(
      ids('true', `${clearnessSql('headline')} DESC, message`),
      rows.toSorted(compareClearness).map(({ id }) => id),
    );
    assert.deepEqual(
      ids(mayBeLowestSql('headline'), lowestFirstSql('headline', 'message')),
      rows
        .filter(({ credit }) => mayBeLowest(credit))
        .toSorted(compareLowness)
        .map(({ id }) => id),
    );
  }
});

/** Every message of some trees with a random credit. */
function filled(t: TestContext): { readonly path: string; readonly writer: StoreWriter; readonly messages: number[] } {
  const { path, writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  const messages = Array.from({ length: 12 }, (_, number) =>
    addTree(writer, {
      iteration: 1,
      problem: problem(number),
      returns: [
        [0, 1],
        [1, 0.5],
      ],
    }).flatMap(({ plan, actors }) => [plan, ...actors]),
  ).flat();
  for (const message of messages) {
    const { bucket, environment } = writer.fullMessage(message);
    const result = { replayIndex: 0, leaf: message, return: 1, evaluatorCalls: 1, tokenHash: 'h', environment };
    writer.insertReplay({ ...result, bucket: bucket ?? 0, alternative: message });
  }
  const credits = randomCredits(messages.length, 11);
  setHeadlines(
    path,
    messages.map((message, index) => ({ message, credit: credits[index] ?? headline(0) })),
  );
  return { path, writer, messages };
}

/** All that is listed by clearness or lowness. */
function listsOf(writer: StoreWriter): unknown {
  const ids = writer.problemIds({ run: RUN, filter: NO_PROBLEM_FILTER, sort: CLEAREST_FIRST, classes: {} });
  return {
    clearest: writer.clearestMessages(RUN, 1000),
    lowest: writer.lowestMessages(RUN, 1000),
    buckets: writer.rankedBuckets({ run: RUN, order: 'clearest', offset: 0, limit: 1000 }),
    problems: ids,
    shown: writer.problems(ids).map(({ clearest }) => clearest?.message),
  };
}

test('the lists of a run are in these orders, each message once', (t) => {
  const { writer } = filled(t);
  const clearest = writer.clearestMessages(RUN, 1000);
  assert.ok(clearest.length > 20);
  const rowsOf = (found: readonly { readonly message: number; readonly credit: Headline }[]): object[] =>
    found.map(({ message, credit }) => ({ id: message, credit }));
  assert.deepEqual(
    rowsOf(clearest),
    clearest.map(({ message, credit }) => ({ id: message, credit })).toSorted(compareClearness),
  );
  const lowest = writer.lowestMessages(RUN, 1000);
  assert.ok(lowest.length > 20 && lowest.every(({ credit }) => mayBeLowest(credit)));
  assert.deepEqual(
    rowsOf(lowest),
    lowest.map(({ message, credit }) => ({ id: message, credit })).toSorted(compareLowness),
  );
  assert.deepEqual(writer.lowestMessages(RUN, 3), lowest.slice(0, 3));
});

test('a store that was ranked by the bound nearest to 0 is ranked anew, and its credits stay as they are', (t) => {
  const { path, writer } = filled(t);
  const db = rawConnection(t, path);
  const credits = (): unknown[] =>
    db.prepare('SELECT pool, token_key, value, low, high, verdict, clear FROM headline ORDER BY 1, 2').all();
  const before = { lists: listsOf(writer), credits: credits() };
  writer.close();
  const old = db
    .prepare<[], { pool: number; key: string } & Headline>('SELECT *, token_key AS key FROM headline')
    .all();
  for (const row of old) {
    const distance = row.low === null || row.high === null ? null : Math.min(Math.abs(row.low), Math.abs(row.high));
    const rank = Math.abs(distanceFromZero(row)) || (distance === null ? null : -distance);
    db.prepare('UPDATE headline SET rank = ? WHERE pool = ? AND token_key = ?').run(rank, row.pool, row.key);
  }
  db.exec('UPDATE bucket_measure SET clearest = 0.5; UPDATE problem SET clearness = 0.5, clear_message = NULL');
  makeEarlier(db, CREDIT_ORDER);
  const again = openStoreForWriting(path);
  t.after(() => again.close());
  assert.deepEqual({ lists: listsOf(again), credits: credits() }, before);
});
