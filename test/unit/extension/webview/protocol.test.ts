import assert from 'node:assert/strict';
import { test } from 'node:test';
import { integer, list, nullable, object, text } from '../../../../src/shared/guard.ts';
import { DASHBOARD_PANEL, isDashboardState } from '../../../../src/shared/protocols/dashboardProtocol.ts';
import { guardToHost } from '../../../../src/shared/protocols/panel.ts';
import { isTaxonomyState, TAXONOMY_PANEL } from '../../../../src/shared/protocols/taxonomyProtocol.ts';
import { isTranscriptState, TRANSCRIPT_PANEL } from '../../../../src/shared/protocols/transcriptProtocol.ts';

const isDashboardToHost = guardToHost(DASHBOARD_PANEL);
const isTaxonomyToHost = guardToHost(TAXONOMY_PANEL);
const isTranscriptToHost = guardToHost(TRANSCRIPT_PANEL);

const thresholds = { misleading: 0.5, ambiguity: 0.01, shift: 0.2, significance: 0.05 };
const taxonomyFilter = { verdict: 'Over-Coupling', role: null, labels: 'disagreement' };
const taxonomyState = {
  version: 2,
  run: 'r',
  filter: taxonomyFilter,
  limit: 50,
  opened: null,
  finding: null,
  draft: { bucket: 1, name: '', note: 'begun' },
  scroll: 0,
};
const filter = { role: 'actor', credit: 'negative', outcome: null, label: 'class:Misleading Plan', lane: 'replays' };
const target = { run: 'r', phase: 'train', iteration: 1, problem: 'i' };

const labelRequest = (asked: unknown): unknown => ({ type: 'request', id: 1, kind: 'label', asked });

const continuation = { snapshot: null, temperature: null, model: null };

const replayDraft = {
  message: 4,
  alternatives: '0',
  replays: 'two',
  text: 'what if',
  independent: true,
  snapshot: 'a'.repeat(64),
  temperature: '0.5x',
  model: '',
};

test('messages of the panels that follow the protocol are taken', () => {
  for (const message of [
    { type: 'ready', selected: null, collapsed: [1, -2], others: [], filter },
    { type: 'request', id: 1, kind: 'why', asked: { message: 2 } },
    { type: 'settle', message: 2, replays: 12 },
    { type: 'filter', filter: { ...filter, outcome: 'won' }, collapsed: [], others: [3] },
    { type: 'request', id: 1, kind: 'search', asked: { revision: 2, query: '<b>' } },
    { type: 'compare', message: 5 },
    { type: 'comparePair', left: 5, right: 6 },
    { type: 'openDiff' },
    { type: 'endComparison' },
    { type: 'request', id: 1, kind: 'rows', asked: { revision: 1, offset: 200 } },
    { type: 'replay', message: 5, alternatives: 0, replays: 1, text: 'my own', independent: false, continuation },
    { type: 'replayResult', message: 5, replays: 4, result: '' },
    { type: 'verify', message: 5 },
    { type: 'exportReport', message: 5 },
    { type: 'copyLink', message: 5 },
    {
      type: 'replay',
      message: 5,
      alternatives: 1,
      replays: 1,
      text: null,
      independent: false,
      continuation: { snapshot: 'ab'.repeat(32), temperature: 0.5, model: null },
    },
    { type: 'request', id: 1, kind: 'chooseModel', asked: {} },
    { type: 'cancelReplay' },
  ]) {
    assert.ok(isTranscriptToHost(message), JSON.stringify(message));
  }
  assert.ok(isTaxonomyToHost({ type: 'open', message: 3 }));
  for (const message of [
    { type: 'ready' },
    { type: 'choose', run: 'r' },
    { type: 'compare', runs: ['a', 'b', 'c', 'd', 'e'] },
    { type: 'openRound', run: 'r', phase: 'evaluate', iteration: 4 },
    { type: 'copy', text: 'step,return\r\n'.repeat(10_000) },
  ]) {
    assert.ok(isDashboardToHost(message), JSON.stringify(message).slice(0, 80));
  }
  for (const message of [
    { type: 'ready', run: null },
    { type: 'compare', runs: ['a', 'b', 'c', 'd', 'e', 'f'] },
    { type: 'compare', runs: [1] },
    { type: 'openRound', run: 'r', phase: 'replay', iteration: 1 },
    { type: 'openRound', run: 'r', phase: 'train', iteration: 0 },
    { type: 'copy', text: 'x'.repeat(32_000_001) },
  ]) {
    assert.equal(isDashboardToHost(message), false, JSON.stringify(message).slice(0, 80));
  }
  assert.ok(
    isDashboardState({
      version: 5,
      run: 'r',
      compared: ['a'],
      tables: ['return'],
      smoothing: 'none',
      axis: 'step',
      scale: 'linear',
      paused: [6, 40],
      scroll: 40,
    }),
  );
  assert.equal(isDashboardState({ version: 1, run: 'r', table: true }), false);
  assert.ok(isDashboardToHost({ type: 'resumeRun', run: 'c3-1-ab' }));
  assert.equal(isDashboardToHost({ type: 'resumeRun' }), false);
  assert.ok(
    isTranscriptState({
      version: 5,
      target,
      selected: 4,
      collapsed: [3, -3],
      opened: [-4],
      filter,
      query: 'plan',
      asWritten: true,
      keysOpen: true,
      whyOpen: false,
      compared: { left: 1, right: 2 },
      top: { message: null, offset: 3 },
      drafts: [replayDraft],
      scroll: 12,
    }),
  );
  assert.ok(isTaxonomyToHost({ type: 'show', thresholds, filter: taxonomyFilter, limit: 50 }));
  assert.ok(isTaxonomyToHost(labelRequest({ bucket: 3, name: 'my own', note: 'a note' })));
  assert.ok(isTaxonomyState(taxonomyState));
});

test('anything else is refused: other types, extra or missing keys, numbers out of range, foreign prototypes', () => {
  for (const message of [
    null,
    'ready',
    [],
    { type: 'eval' },
    { type: 'request', id: 1, kind: 'rows', asked: { revision: 1 } },
    { type: 'request', id: 1, kind: 'rows', asked: { revision: 1, offset: 200, path: '/etc/passwd' } },
    { type: 'request', id: 1, kind: 'rows', asked: { revision: 1, offset: -1 } },
    { type: 'request', id: 1, kind: 'rows', asked: { revision: 1, offset: 0.5 } },
    { type: 'request', id: 1, kind: 'detail', asked: { message: '5' } },
    { type: 'request', id: 1.5, kind: 'detail', asked: { message: 5 } },
    { type: 'request', id: 1, kind: 'toString', asked: {} },
    { type: 'request', id: 1, kind: 'detail', asked: { message: 5 }, path: '/etc/passwd' },
    { type: 'replay', message: 5, alternatives: 4, replays: 1, text: null, independent: false },
    ...[
      { ...continuation, temperature: 0 },
      { ...continuation, temperature: '1' },
      { ...continuation, snapshot: 'a'.repeat(65) },
      { ...continuation, model: 5 },
      { ...continuation, more: 1 },
    ].map((wrong) => ({
      type: 'replay',
      message: 5,
      alternatives: 4,
      replays: 1,
      text: null,
      independent: false,
      continuation: wrong,
    })),
    { type: 'replayResult', message: 5, replays: 4, result: 'a'.repeat(16_385) },
    { type: 'replayResult', message: 5, replays: 0, result: '' },
    { type: 'replay', message: 5, alternatives: 65, replays: 1, text: null, independent: false, continuation },
    { type: 'replay', message: 5, alternatives: 4, replays: 0, text: null, independent: false, continuation },
    {
      type: 'replay',
      message: 5,
      alternatives: 4,
      replays: 1,
      text: 'x'.repeat(100_001),
      independent: false,
      continuation,
    },
    { type: 'replay', message: 5, alternatives: 4, replays: 1, text: null, independent: 'no', continuation },
    { type: 'verify' },
    { type: 'exportReport', message: '5' },
    { type: 'filter', filter: { ...filter, outcome: 'maybe' }, collapsed: [], others: [] },
    { type: 'request', id: 1, kind: 'search', asked: { revision: 2, query: 'x'.repeat(501) } },
    { type: 'comparePair', left: 5 },
    { type: 'ready', selected: null, collapsed: Array.from({ length: 10_001 }, () => 1), others: [], filter },
    Object.create({ type: 'cancelReplay' }),
  ]) {
    assert.equal(isTranscriptToHost(message), false, JSON.stringify(message).slice(0, 80));
  }
  assert.equal(
    isTranscriptState({ version: 1, target, selected: null, collapsed: [], filter, query: '', compared: null }),
    false,
  );
  const transcriptState = {
    version: 5,
    target,
    selected: null,
    collapsed: [],
    opened: [],
    filter,
    query: '',
    asWritten: false,
    keysOpen: false,
    whyOpen: true,
    compared: null,
    top: null,
    drafts: [],
    scroll: 0,
  };
  assert.ok(isTranscriptState(transcriptState));
  assert.equal(isTranscriptState({ ...transcriptState, target: { ...target, phase: 'test' } }), false);
  assert.equal(
    isTranscriptState({ ...transcriptState, drafts: [{ ...replayDraft, text: 'x'.repeat(100_001) }] }),
    false,
  );
  assert.equal(
    isTranscriptState({
      ...transcriptState,
      drafts: Array.from({ length: 9 }, (_, message) => ({ ...replayDraft, message })),
    }),
    false,
  );
  assert.equal(isTaxonomyState({ ...taxonomyState, version: 1 }), false);
  assert.equal(isTaxonomyState({ ...taxonomyState, filter: { ...taxonomyFilter, verdict: 'No Such Class' } }), false);
  for (const message of [
    { type: 'show', thresholds: { ...thresholds, shift: Number.NaN }, filter: taxonomyFilter, limit: 50 },
    { type: 'show', thresholds: { ...thresholds, significance: 1.1 }, filter: taxonomyFilter, limit: 50 },
    { type: 'show', thresholds: { ...thresholds, misleading: '0.5' }, filter: taxonomyFilter, limit: 50 },
    { type: 'show', thresholds, filter: taxonomyFilter, limit: 2001 },
    labelRequest({ bucket: 3, name: 'x'.repeat(401), note: '' }),
    labelRequest({ bucket: -3, name: 'x', note: '' }),
    { type: 'label', bucket: 3, name: 'x', note: '' },
  ]) {
    assert.equal(isTaxonomyToHost(message), false, JSON.stringify(message).slice(0, 80));
  }
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
