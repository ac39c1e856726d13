import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Problem } from '../../../../src/domain/problem.ts';
import { migrateStore, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { filledStore, rawConnection, storeErrorLike, temporaryFolder } from '../helpers.ts';

const TESTS = { tests: ['assert f(1) == 2'], test: '', entryPoint: null, setup: 'import math\n', prefix: '' };
const CODE: Problem = {
  uid: 'mbpp-1',
  uidSha: 'c'.repeat(64),
  question: 'Write f.',
  answer: '',
  source: 'mbpp.jsonl',
  level: null,
  tests: TESTS,
};
const PLAIN: Problem = {
  uid: 'sum-1',
  uidSha: 'd'.repeat(64),
  question: '1 + 1?',
  answer: '2',
  source: 'sums.jsonl',
  level: 3,
};

test('a problem comes back with its tests, and without any where it has none', (t) => {
  const store = filledStore(t);
  store.insertProblems([CODE, PLAIN]);
  assert.deepEqual([store.problem(CODE.uidSha), store.problem(PLAIN.uidSha)], [CODE, PLAIN]);
});

test('the same question with other tests is refused, with the same tests in another order of keys it is known', (t) => {
  const store = filledStore(t);
  store.insertProblems([CODE, PLAIN]);
  const { prefix, setup, entryPoint, test: program, tests } = TESTS;
  store.insertProblems([{ ...CODE, tests: { prefix, setup, entryPoint, test: program, tests } }, PLAIN]);
  const { tests: _, ...untested } = CODE;
  for (const other of [
    untested,
    { ...CODE, tests: { ...TESTS, tests: ['assert f(1) == 3'] } },
    { ...PLAIN, tests: TESTS },
  ]) {
    assert.throws(() => store.insertProblems([other]), storeErrorLike(/with other tests/, /--store/));
  }
  assert.throws(
    () => store.insertProblems([{ ...CODE, answer: 'def f(x): pass' }]),
    storeErrorLike(/with another answer/),
  );
});

test('a store of version 2 keeps its problems, which have no tests', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const old = rawConnection(t, path);
  migrateStore(old, path, MIGRATIONS.slice(0, 2));
  old.exec(`INSERT INTO instance VALUES (1, '${PLAIN.uidSha}', 'sum-1', '1 + 1?', '2', 'sums.jsonl', 3)`);
  old.close();
  const store = openStoreForWriting(path);
  t.after(() => store.close());
  assert.deepEqual(store.problem(PLAIN.uidSha), PLAIN);
  store.insertProblems([PLAIN, CODE]);
  assert.deepEqual(store.problem(CODE.uidSha), CODE);
});
