import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Instance } from '../../../../src/domain/problem.ts';
import { migrate, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { filledStore, rawConnection, storeErrorLike, temporaryFolder } from '../helpers.ts';

const TESTS = { tests: ['assert f(1) == 2'], test: '', entryPoint: null, setup: 'import math\n', prefix: '' };
const CODE: Instance = {
  uid: 'mbpp-1',
  uidSha: 'c'.repeat(64),
  question: 'Write f.',
  answer: '',
  source: 'mbpp.jsonl',
  level: null,
  tests: TESTS,
};
const PLAIN: Instance = {
  uid: 'sum-1',
  uidSha: 'd'.repeat(64),
  question: '1 + 1?',
  answer: '2',
  source: 'sums.jsonl',
  level: 3,
};

test('an instance comes back with its tests, and without any where it has none', (t) => {
  const store = filledStore(t);
  store.insertInstances([CODE, PLAIN]);
  assert.deepEqual([store.instance(CODE.uidSha), store.instance(PLAIN.uidSha)], [CODE, PLAIN]);
});

test('the same question with other tests is refused, with the same tests in another order of keys it is known', (t) => {
  const store = filledStore(t);
  store.insertInstances([CODE, PLAIN]);
  const { prefix, setup, entryPoint, test: program, tests } = TESTS;
  store.insertInstances([{ ...CODE, tests: { prefix, setup, entryPoint, test: program, tests } }, PLAIN]);
  const { tests: _, ...untested } = CODE;
  for (const other of [
    untested,
    { ...CODE, tests: { ...TESTS, tests: ['assert f(1) == 3'] } },
    { ...PLAIN, tests: TESTS },
  ]) {
    assert.throws(
      () => {
        store.insertInstances([other]);
      },
      storeErrorLike(/with other tests/, /--store/),
    );
  }
  assert.throws(
    () => {
      store.insertInstances([{ ...CODE, answer: 'def f(x): pass' }]);
    },
    storeErrorLike(/with another answer/),
  );
});

test('a store of version 2 keeps its instances, which have no tests', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const old = rawConnection(t, path);
  migrate(old, path, MIGRATIONS.slice(0, 2));
  old.exec(`INSERT INTO instance VALUES (1, '${PLAIN.uidSha}', 'sum-1', '1 + 1?', '2', 'sums.jsonl', 3)`);
  old.close();
  const store = openStoreForWriting(path);
  t.after(() => {
    store.close();
  });
  assert.deepEqual(store.instance(PLAIN.uidSha), PLAIN);
  store.insertInstances([PLAIN, CODE]);
  assert.deepEqual(store.instance(CODE.uidSha), CODE);
});
