import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listNamedRuns, parseTags } from '../../../src/domain/run.ts';

test('commas separate tags, and each tag is kept once', () =>
  assert.deepEqual(parseTags(' paper,, final  run ,paper'), ['paper', 'final run']));

test('the earlier runs that a configuration names are found wherever it names them', () => {
  const config = {
    begin: { run: 'one', replace: { role: 'actor', from: { run: 'two' } } },
    policies: { reasoner: { kind: 'snapshot', run: 'three' }, actor: { kind: 'model' } },
  };
  assert.deepEqual(listNamedRuns(JSON.stringify({ config })), ['one', 'two', 'three']);
  assert.deepEqual(listNamedRuns(JSON.stringify({ config: { begin: null } })), []);
  assert.deepEqual(listNamedRuns('{'), []);
});
