/** Contexts that go on from one another: what is stored of them, and that they come back to the letter. */

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { examineStore } from '../../../../src/store/repair/examine.ts';
import { salvageStore } from '../../../../src/store/repair/salvage.ts';
import { CONTEXT_BASES, EMPTY_KEY } from '../../../../src/store/tables/contextBases.ts';
import { textHash } from '../../../../src/store/tokens.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../src/store/write/writer.ts';
import { hashContext } from '../../../../src/team/contextKey.ts';
import { UNIT_RULE } from '../../../support/headlines.ts';
import { makeEarlier } from '../earlierStore.ts';
import { filledStore, newMessage, rawConnection, storeErrorLike } from '../helpers.ts';

const said = (store: StoreWriter, context: string): number =>
  store.insertMessage(newMessage({ context, contextKey: hashContext(context).key }));
const grown = (store: StoreWriter, before: string, since: string): number =>
  store.insertMessage(
    newMessage({
      context: { base: hashContext(before).key, baseLength: before.length, since, sha256: textHash(before + since) },
      contextKey: hashContext(before + since).key,
    }),
  );
/** Characters of all texts that a store holds. */
const characters = (t: TestContext, { path }: StoreWriter): unknown =>
  rawConnection(t, path).prepare('SELECT sum(length(body)) FROM text').pluck().get();

it('a long text that goes on from another one is stored as what is new, whatever was changed at its end', (t) => {
  const store = filledStore(t);
  const start = Array.from({ length: 600 }, (_, index) => `line ${index}`).join('\n');
  const texts = [start, `${start}\nmore`, `${start.slice(0, -3)}\n\u{1f600}`, `${start.slice(0, -3)}\n\u{1f601}`];
  const ids = texts.map((text) => said(store, text));
  const other = said(store, `another ${start}`);
  assert.deepEqual(
    ids.map((id) => store.fullMessage(id).context),
    texts,
  );
  assert.equal(store.fullMessage(other).context, `another ${start}`);
  assert.deepEqual(
    rawConnection(t, store.path)
      .prepare('SELECT context, base, kept, body FROM context_base JOIN text ON text.id = since')
      .raw()
      .all(),
    [
      [2, 1, start.length, '\nmore'],
      [3, 1, start.length - 3, '\n\u{1f600}'],
      // A character of two halves is not divided.
      [4, 3, start.length - 2, '\u{1f601}'],
    ],
  );
  assert.equal(said(store, texts[2] ?? ''), other + 1);
  assert.deepEqual(
    [said(store, 'short'), said(store, 'short and more')].map((id) => store.fullMessage(id).context),
    ['short', 'short and more'],
  );
});

it('a conversation is as long in the store as it is, and each of its contexts comes back', (t) => {
  const store = filledStore(t);
  const ids: number[] = [];
  let text = '### user\n0';
  store.transaction(() => {
    ids.push(said(store, text));
    for (let turn = 1; turn < 2000; turn++) {
      const since = `\n\n### user\n${turn}`;
      ids.push(grown(store, text, since));
      text += since;
    }
    // Of its own first messages a context is told apart by its key alone.
    ids.push(grown(store, text, ''));
  });
  assert.equal(store.fullMessage(ids.at(-1) ?? 0).context, text);
  assert.equal(store.fullMessage(ids.at(-2) ?? 0).context, text);
  assert.equal(store.fullMessage(ids[10] ?? 0).context, text.slice(0, text.indexOf('\n\n### user\n11')));
  assert.ok(Number(characters(t, store)) < text.length + 100);
  assert.deepEqual(examineStore(store.path, true).findings, []);
});

it('what goes on from nothing is refused, and so is a key of two contexts', (t) => {
  const store = filledStore(t);
  said(store, 'a');
  assert.throws(() => grown(store, 'b', 'c'), storeErrorLike(/goes on from \d+, which the store/));
  grown(store, 'a', 'b');
  assert.throws(
    () =>
      store.insertMessage(
        newMessage({
          context: { base: hashContext('a').key, baseLength: 1, since: 'c', sha256: textHash('ac') },
          contextKey: hashContext('ab').key,
        }),
      ),
    storeErrorLike(/identifies two contexts/),
  );
});

it('a store of the version before opens, and its contexts are gone on from', (t) => {
  const store = filledStore(t);
  const before = said(store, 'a whole context');
  store.close();
  const raw = new (loadSqlite())(store.path);
  makeEarlier(raw, CONTEXT_BASES);
  raw.close();
  const again = openStoreForWriting(store.path);
  assert.equal(again.fullMessage(before).context, 'a whole context');
  const after = grown(again, 'a whole context', ' and more');
  again.close();
  const reader = openStoreForReading(store.path);
  assert.equal(reader.fullMessage(after).context, 'a whole context and more');
  reader.close();
});

it('a copy of a damaged store leaves out what goes on from what is lost, and keeps the rest', (t) => {
  const store = filledStore(t);
  assert.equal(hashContext('').key, EMPTY_KEY);
  const [empty, whole] = [said(store, ''), said(store, 'a')];
  const [kept, lost] = [grown(store, 'a', 'b'), grown(store, 'ab', 'c')];
  const below = grown(store, 'abc', 'd');
  store.close();
  const db = new (loadSqlite())(store.path);
  const guard = 'context_base_no_delete';
  const sql = db.prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(guard) ?? '';
  db.exec(`DROP TRIGGER ${guard}; DELETE FROM context_base WHERE base = 3; ${sql}`);
  db.close();
  const copy = join(dirname(store.path), 'copy.sqlite');
  const done = salvageStore(store.path, copy, UNIT_RULE);
  assert.deepEqual(
    done.filter(({ left }) => left > 0).map(({ table, left }) => [table, left]),
    [
      ['context', 2],
      ['context_base', 1],
      ['decision', 2],
    ],
  );
  const reader = openStoreForReading(copy);
  assert.deepEqual(
    [empty, whole, kept].map((id) => reader.fullMessage(id).context),
    ['', 'a', 'ab'],
  );
  for (const id of [lost, below]) {
    assert.throws(() => reader.fullMessage(id));
  }
  reader.close();
});

it('parts that repeat each other without an end are read no further than a bound', (t) => {
  const store = filledStore(t);
  const long = 'x'.repeat(2 ** 20);
  let last = said(store, '');
  store.transaction(() => {
    for (let part = 0; part <= 2 ** 6; part++) {
      const base = part === 0 ? EMPTY_KEY : String(part);
      last = store.insertMessage(
        newMessage({
          context: { base, baseLength: part * 2 ** 20, since: long, sha256: String(part) },
          contextKey: String(part + 1),
        }),
      );
    }
  });
  assert.throws(() => store.fullMessage(last), storeErrorLike(/has more than 67108864 characters/));
});
