import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedRuns, tagsOf } from '../../../src/domain/run.ts';

test('commas separate tags, and each tag is kept once', () =>
  assert.deepEqual(tagsOf(' paper,, final  run ,paper'), ['paper', 'final run']));

test('the earlier runs that a configuration names are found wherever it names them', () => {
  const config = {
    begin: { run: 'one', replace: { role: 'actor', from: { run: 'two' } } },
    policies: { reasoner: { kind: 'snapshot', run: 'three' }, actor: { kind: 'model' } },
  };
  assert.deepEqual(namedRuns(JSON.stringify({ config })), ['one', 'two', 'three']);
  assert.deepEqual(namedRuns(JSON.stringify({ config: { begin: null } })), []);
  assert.deepEqual(namedRuns('{'), []);
});
