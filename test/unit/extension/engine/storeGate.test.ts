/** What the editor knows of a store before it opens it: found out once for each file, kept, and found out anew. */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EXAMINE_ENTRY } from '../../../../src/engine/places.ts';
import { StoreGate, type StoreVerdict } from '../../../../src/extension/engine/storeGate.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { makeEndless } from '../../../support/endlessStore.ts';
import { addRun, temporaryStore } from '../storeFixture.ts';

const EXAMINER = fileURLToPath(EXAMINE_ENTRY);
/** Where an examination is started with it, it is a finding. */
const NO_EXAMINER = '/no/examiner.js';

/** A store with a run that nobody has open, and a memory for what was found. */
function closedStore(t: TestContext): { readonly path: string; readonly memory: Map<string, unknown> } {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  writer.close();
  return { path: writer.path, memory: new Map() };
}

function gateOf(memory: Map<string, unknown>, examiner = EXAMINER): StoreGate {
  return new StoreGate(examiner, {
    get: (key) => memory.get(key),
    update: (key, value) => {
      memory.set(key, value);
      return Promise.resolve();
    },
  });
}

async function faultOf(gate: StoreGate, path: string, trusted = true): Promise<StoreVerdict['fault']> {
  const found = gate.check(path, trusted);
  await found?.known;
  return found?.fault;
}

test('pages that keep a reader busy are found before a store is opened, in a trusted folder too', async (t) => {
  const { path, memory } = closedStore(t);
  const endless = `${path}.endless`;
  copyFileSync(path, endless);
  makeEndless(endless);
  for (const trusted of [true, false]) {
    assert.match((await faultOf(gateOf(memory), endless, trusted)) ?? '', /SQLite finds damage/);
    assert.equal(await faultOf(gateOf(new Map()), path, trusted), null);
  }
  assert.equal(memory.size, 0);
});

test('a store that was found whole is known to the next window, until another program changes it', async (t) => {
  const { path, memory } = closedStore(t);
  const first = gateOf(memory).check(path, true);
  assert.equal(first?.fault, undefined, 'not known before it was looked at');
  // Whoever looks has the file open, and an open store does not change to pages of another kind.
  await first?.known;
  assert.equal(first?.fault, null);
  assert.equal(gateOf(memory, NO_EXAMINER).check(path, true)?.fault, null, 'known at once');
  assert.equal(gateOf(memory, NO_EXAMINER).check(path, false)?.fault, undefined, 'trust was asked for then');
  makeEndless(path);
  assert.match((await faultOf(gateOf(memory), path)) ?? '', /SQLite finds damage/);
});

test('what was found of a store that another program changes meanwhile is not kept for the next window', async (t) => {
  const { path, memory } = closedStore(t);
  const hasty = `${path}.examiner.js`;
  writeFileSync(hasty, "process.send({ findings: [], extent: '', refusal: null, counts: null });");
  const gate = gateOf(memory, hasty);
  const looked = gate.check(path, true);
  makeEndless(path);
  await looked?.known;
  assert.equal(looked?.fault, null, 'the file that was there');
  assert.equal(memory.size, 0);
  assert.match((await faultOf(gateOf(memory), path)) ?? '', /SQLite finds damage/);
});

test('what writers add to a store that is known is not examined, and is kept when they are done', async (t) => {
  const { path, memory } = closedStore(t);
  const gate = gateOf(memory);
  assert.equal(await faultOf(gate, path), null);
  const known = gate.check(path, true);
  const kept = [...memory.values()];
  const writer = openStoreForWriting(path);
  addRun(writer, 'second');
  assert.equal(gate.check(path, true), known);
  gate.remember(path);
  assert.deepEqual([...memory.values()], kept, 'a state that will not last');
  writer.close();
  assert.equal(gate.check(path, true), known);
  gate.remember(path);
  assert.notDeepEqual([...memory.values()], kept);
  const reader = openStoreForReading(path);
  assert.equal(gateOf(memory, NO_EXAMINER).check(path, true)?.fault, null, 'files of a reader change nothing');
  reader.close();
  assert.equal(gateOf(memory, NO_EXAMINER).check(path, true)?.fault, null);
});

test('another file by the name of a store is another store, and one that was restored in place is looked at', async (t) => {
  const { path, memory } = closedStore(t);
  const [whole, endless] = [`${path}.whole`, `${path}.endless`];
  copyFileSync(path, whole);
  copyFileSync(path, endless);
  makeEndless(endless);
  const gate = gateOf(memory);
  assert.equal(await faultOf(gate, path), null);
  renameSync(endless, path);
  assert.match((await faultOf(gate, path)) ?? '', /SQLite finds damage/);
  const refused = gate.check(path, true);
  assert.equal(gate.check(path, true), refused, 'looked at once');
  copyFileSync(whole, path);
  assert.equal(await faultOf(gate, path), null);
  gate.forget();
  assert.equal(gate.check(path, true)?.fault, null, 'the state that was kept');
});

test('what is no store at all is left to the reader, which says so', async (t) => {
  const { path, memory } = closedStore(t);
  const gate = gateOf(memory);
  const [strange, empty, gone] = [`${path}.txt`, `${path}.empty`, `${path}.gone`];
  writeFileSync(strange, 'notes '.repeat(100));
  writeFileSync(empty, '');
  for (const file of [strange, empty]) {
    assert.equal(await faultOf(gate, file), null);
    assert.throws(() => openStoreForReading(file), /is not a C3 store|There is no store/);
  }
  assert.equal(gate.check(gone, true), null);
  assert.equal(gate.check(`${path}/below`, true), null);
  assert.equal(existsSync(gone), false);
});
