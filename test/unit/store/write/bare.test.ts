import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { appendAll, beginWorkload, StoreWorkload, WIDE_GROUP } from '../../../../src/bench/speed/storeWorkload.ts';
import { openBareStore } from '../../../../src/store/write/bare.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { rawConnection, temporaryFolder } from '../helpers.ts';

test('the bare peer of the bench stores the very rows that the writer stores, found by the same words', (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'c3.sqlite');
  const barePath = join(folder, 'bare.sqlite');
  const workload = new StoreWorkload();
  const first = openStoreForWriting(path);
  beginWorkload(first);
  const before = workload.next();
  first.transaction(() => appendAll(first, before));
  first.close();
  copyFileSync(path, barePath);

  // The eighth iteration brings a replay request.
  const transactions = Array.from({ length: 8 }, () => workload.next());
  const store = openStoreForWriting(path);
  const bare = openBareStore(barePath);
  const ready = transactions.map((appends) => bare.ready((appender) => appendAll(appender, appends)));
  for (const appends of transactions) {
    store.transaction(() => appendAll(store, appends));
  }
  for (const transaction of ready) {
    transaction.store();
  }
  store.close();
  bare.close();

  const [ours, theirs] = [path, barePath].map((file) => {
    const db = rawConnection(t, file);
    const rows = (table: string): unknown[] => db.prepare(`SELECT * FROM ${table}`).all();
    const found = db
      .prepare("SELECT rowid FROM message_search WHERE message_search MATCH 'apples' ORDER BY rowid")
      .all();
    return {
      found,
      ...Object.fromEntries(
        ['text', 'context', 'bucket', 'decision', 'alternative', 'episode', 'replay', 'credit'].map((table) => [
          table,
          rows(table),
        ]),
      ),
    };
  });
  assert.ok(ours !== undefined && ours.found.length > 100);
  for (const [table, rows] of Object.entries(ours)) {
    assert.ok(rows.length > 0, table);
  }
  assert.deepEqual(theirs, ours);
  const added = 8 * 32 * (10 + 3 + 8 + 10) + 24 + 1 + 1 + 20 + 20 + 5;
  assert.ok(
    ready.reduce((sum, { rows }) => sum + rows, 0) > added,
    'messages, buckets, episodes and credits, and texts and contexts beside them',
  );
});

test('the workload has the sizes that the bench speaks of', () => {
  const workload = new StoreWorkload();
  const wide = workload.wide();
  const messages = wide.flatMap((append) => (append.table === 'decision' ? [append.row] : []));
  assert.equal(messages.length, 10_000);
  assert.ok(
    messages.every(
      ({ run, phase, iteration, problem }) =>
        run === WIDE_GROUP.run &&
        phase === WIDE_GROUP.phase &&
        iteration === WIDE_GROUP.iteration &&
        problem === WIDE_GROUP.problem,
    ),
  );
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const context = mean(
    messages.map((row) => Buffer.byteLength(typeof row.context === 'string' ? row.context : assert.fail())),
  );
  const message = mean(messages.map((row) => Buffer.byteLength(row.text)));
  assert.ok(context > 270 && context < 330, String(context));
  assert.ok(message > 50 && message < 70, String(message));
  assert.ok(messages.every(({ tokens, logprobs }) => tokens.length === 20 && logprobs.length === 20));
  // Siblings share their context and some messages repeat another's.
  assert.equal(new Set(messages.map((row) => row.contextKey)).size, 2001);
  const repeated = 1 - new Set(messages.map((row) => row.text)).size / messages.length;
  assert.ok(repeated > 0.25 && repeated < 0.35, String(repeated));
});
