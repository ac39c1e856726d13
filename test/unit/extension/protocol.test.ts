import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDashboardToHost } from '../../../src/shared/dashboardProtocol.ts';
import { integer, list, nullable, object, text } from '../../../src/shared/guard.ts';
import { isTaxonomyState, isTaxonomyToHost } from '../../../src/shared/taxonomyProtocol.ts';
import { isTranscriptState, isTranscriptToHost } from '../../../src/shared/transcriptProtocol.ts';

const filter = { role: 'actor', credit: 'negative', outcome: null, label: 'class:Misleading Plan' };
const target = { run: 'r', phase: 'train', iteration: 1, instance: 'i' };

test('messages of the panels that follow the protocol are taken', () => {
  for (const message of [
    { type: 'ready', selected: null, collapsed: [1, 2], others: [], filter },
    { type: 'filter', filter: { ...filter, outcome: 'won' }, collapsed: [], others: [3] },
    { type: 'search', revision: 2, query: '<b>' },
    { type: 'compare', message: 5 },
    { type: 'openDiff', left: 5, right: 6 },
    { type: 'rows', revision: 1, offset: 200 },
    { type: 'replay', message: 5, alternatives: 0, replays: 1, text: 'my own', independent: false },
    { type: 'verify', message: 5 },
    { type: 'cancelReplay' },
  ]) assert.ok(isTranscriptToHost(message), JSON.stringify(message));
  assert.ok(isTaxonomyToHost({ type: 'open', message: 3 }));
  assert.ok(isDashboardToHost({ type: 'ready', run: null }));
  assert.ok(isDashboardToHost({ type: 'resumeRun', run: 'c3-1-ab' }));
  assert.equal(isDashboardToHost({ type: 'resumeRun' }), false);
  assert.ok(isTranscriptState({ version: 2, target, selected: 4, collapsed: [], filter, query: 'plan', compared: { left: 1, right: 2 } }));
  assert.ok(isTaxonomyState({ version: 1, run: 'r', selected: 'Over-Coupling' }));
});

test('anything else is refused: other types, extra or missing keys, numbers out of range, foreign prototypes', () => {
  for (const message of [
    null,
    'ready',
    [],
    { type: 'eval' },
    { type: 'rows', revision: 1 },
    { type: 'rows', revision: 1, offset: 200, path: '/etc/passwd' },
    { type: 'rows', revision: 1, offset: -1 },
    { type: 'rows', revision: 1, offset: 0.5 },
    { type: 'detail', id: 1, message: '5' },
    { type: 'replay', message: 5, alternatives: 65, replays: 1, text: null, independent: false },
    { type: 'replay', message: 5, alternatives: 4, replays: 0, text: null, independent: false },
    { type: 'replay', message: 5, alternatives: 4, replays: 1, text: 'x'.repeat(100_001), independent: false },
    { type: 'replay', message: 5, alternatives: 4, replays: 1, text: null, independent: 'no' },
    { type: 'verify' },
    { type: 'filter', filter: { ...filter, outcome: 'maybe' }, collapsed: [], others: [] },
    { type: 'search', revision: 2, query: 'x'.repeat(501) },
    { type: 'comparePair', left: 5 },
    { type: 'ready', selected: null, collapsed: Array.from({ length: 10_001 }, () => 1), others: [], filter },
    Object.create({ type: 'cancelReplay' }),
  ]) assert.equal(isTranscriptToHost(message), false, JSON.stringify(message).slice(0, 80));
  assert.equal(isTranscriptState({ version: 1, target, selected: null, collapsed: [], filter, query: '', compared: null }), false);
  assert.equal(isTranscriptState({ version: 2, target: { ...target, phase: 'test' }, selected: null, collapsed: [], filter, query: '', compared: null }), false);
  assert.equal(isTaxonomyState({ version: 1, run: 'r', selected: 'No Such Class' }), false);
});

test('a guard reads own keys only and never calls what it guards', () => {
  const guard = object({ a: nullable(integer(0, 9)), b: list(text(3), 2) });
  assert.ok(guard({ a: null, b: ['abc', ''] }));
  assert.equal(guard({ a: 10, b: [] }), false);
  assert.equal(guard({ a: Number.NaN, b: [] }), false);
  assert.equal(guard({ a: 1, b: ['abcd'] }), false);
  assert.equal(guard({ a: 1, b: ['', '', ''] }), false);
  assert.equal(guard({ a: undefined, b: [] }), false);
  assert.equal(guard(Object.assign(Object.create({ b: [] }), { a: 1 })), false);
});
