import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredMethodState } from '../../../../src/domain/step.ts';
import { HEADLINE_RULE } from '../../../../src/engine/recipe/headlines.ts';
import { salvageStore } from '../../../../src/store/repair/salvage.ts';
import { METHOD_STATES } from '../../../../src/store/tables/methodStates.ts';
import { migrateStore, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { filledStore, rawConnection, RUN, storeErrorLike, temporaryFolder } from '../helpers.ts';

const STATE: StoredMethodState = {
  name: 'statistics',
  version: 3,
  json: { mean: 0.1 + 0.2, roles: ['planner', null, true], 'ä "quoted"': { deep: [1e-308, -5] } },
  tensors: {
    a: { shape: [2, 2], data: Float32Array.of(0.1, -0, 3e-45, 4) },
    none: { shape: [0], data: new Float32Array() },
    one: { shape: [], data: Float32Array.of(7) },
  },
};

test('a state comes back to the bit, each step its own', (t) => {
  const store = filledStore(t);
  store.insertMethodState(RUN, 1, STATE);
  store.insertMethodState(RUN, 2, { ...STATE, json: 5, tensors: {} });
  assert.deepEqual(store.methodState(RUN, 1), STATE);
  assert.ok(Object.is(store.methodState(RUN, 1)?.tensors['a']?.data[1], -0));
  assert.deepEqual(store.methodState(RUN, 2), { ...STATE, json: 5, tensors: {} });
  assert.deepEqual([store.methodState(RUN, 3), store.methodState('other', 1)], [null, null]);
  assert.throws(() => store.insertMethodState(RUN, 1, STATE), /never changed/);
  assert.throws(() => store.insertMethodState('absent', 1, STATE), storeErrorLike(/does not hold/));
});

test('a state is stored with its transaction or not at all', (t) => {
  const store = filledStore(t);
  assert.throws(() => {
    store.transaction(() => {
      store.insertMethodState(RUN, 1, STATE);
      throw new Error('interrupted');
    });
  }, /interrupted/);
  assert.equal(store.methodState(RUN, 1), null);
});

test('a state that is not what was stored is refused, and the rest of the store can be read', (t) => {
  const store = filledStore(t);
  for (const step of [1, 2, 3]) {
    store.insertMethodState(RUN, step, STATE);
  }
  const db = rawConnection(t, store.path);
  const triggers = db
    .prepare<[], { name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'method_state'",
    )
    .all();
  for (const { name } of triggers) {
    db.exec(`DROP TRIGGER ${name}`);
  }
  db.exec("UPDATE method_state SET json = '5' WHERE iteration = 1");
  db.exec('UPDATE method_state SET tensors = zeroblob(length(tensors)) WHERE iteration = 2');
  for (const step of [1, 2]) {
    assert.throws(
      () => store.methodState(RUN, step),
      storeErrorLike(/is damaged/, new RegExp(`after step ${step} of run run-1`)),
    );
  }
  assert.deepEqual(store.methodState(RUN, 3), STATE);
});

test('a store of the version before gets the table, and keeps what it has; a copy of what is whole has the states too', (t) => {
  const folder = temporaryFolder(t);
  const path = `${folder}/c3.sqlite`;
  const old = rawConnection(t, path);
  migrateStore(old, path, MIGRATIONS.slice(0, MIGRATIONS.indexOf(METHOD_STATES)));
  old.exec("INSERT INTO run VALUES ('run-1', 'c3', 1, 'Old', '{}', 3, 'done', '2026', '2026', NULL)");
  old.close();
  const store = openStoreForWriting(path);
  assert.deepEqual([store.run(RUN).title, store.methodState(RUN, 1)], ['Old', null]);
  store.insertMethodState(RUN, 1, STATE);
  store.close();
  const copy = `${folder}/copy.sqlite`;
  const copied = salvageStore(path, copy, HEADLINE_RULE);
  assert.deepEqual(
    copied.find(({ table }) => table === 'method_state'),
    { table: 'method_state', copied: 1, left: 0, unreadable: 0 },
  );
  const again = openStoreForWriting(copy);
  t.after(() => again.close());
  assert.deepEqual(again.methodState(RUN, 1), STATE);
});
