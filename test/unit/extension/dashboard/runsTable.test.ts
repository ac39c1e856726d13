import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRunsCsv } from '../../../../src/extension/dashboard/runsTableSession.ts';
import { guardToHost } from '../../../../src/shared/protocols/panel.ts';
import {
  RUNS_PANEL,
  listSettingKeys,
  readSettings,
  sortRunRows,
  type RunTableRow,
} from '../../../../src/shared/protocols/runsTable.ts';
import { tableRow } from '../../../support/tableRow.ts';

const isRunsTableToHost = guardToHost(RUNS_PANEL);

test('settings of a stored configuration are dotted keys; lists and empty sections are one value, title, method and seed have columns of their own', () => {
  const stored = JSON.stringify({
    config: {
      title: 'x',
      method: 'c3',
      seed: 1,
      fanout: [2, 4],
      sampling: { temperature: 1, top_p: 0.9 },
      adapter: null,
      chat: {},
    },
    weights: 'secret',
  });
  assert.deepEqual(readSettings(stored), {
    fanout: '[2,4]',
    'sampling.temperature': '1',
    'sampling.top_p': '0.9',
    adapter: 'null',
    chat: '{}',
  });
  assert.deepEqual([readSettings('no json'), readSettings('{}'), readSettings('[]')], [{}, {}, {}]);
});

test('only settings differ whose values do, or that some runs lack', () => {
  const rows = [
    tableRow('a', { settings: { same: '1', other: '1', extra: '2' } }),
    tableRow('b', { settings: { same: '1', other: '2' } }),
  ];
  assert.deepEqual(listSettingKeys(rows), { all: ['extra', 'other', 'same'], differing: ['extra', 'other'] });
  assert.deepEqual(listSettingKeys(rows.slice(0, 1)).differing, []);
  assert.deepEqual(listSettingKeys([tableRow('a'), tableRow('b', { settings: { toString: '1' } })]).differing, [
    'toString',
  ]);
});

test('runs are sorted by numbers as numbers, by the value of an interval, and without a value they are last either way', () => {
  const interval = (value: number): RunTableRow['accuracyAfter'] => ({ value, low: null, high: null, n: 1 });
  const rows = [
    tableRow('a', { accuracyAfter: interval(0.2), settings: { rate: '10' } }),
    tableRow('b', { settings: { rate: '9' } }),
    tableRow('c', { accuracyAfter: interval(0.7), settings: { rate: '"auto"' } }),
  ];
  const ids = (column: string, descending: boolean): string =>
    sortRunRows(rows, column, descending)
      .map(({ id }) => id)
      .join('');
  assert.deepEqual([ids('accuracyAfter', true), ids('accuracyAfter', false)], ['cab', 'acb']);
  assert.deepEqual([ids('setting:rate', false), ids('setting:rate', true)], ['bac', 'cab']);
  assert.deepEqual([ids('setting:none', true), ids('no column', true)], ['abc', 'abc']);
});

test('the host takes only what follows the protocol', () => {
  assert.ok(isRunsTableToHost({ type: 'compare', runs: ['a', 'b'] }));
  for (const wrong of [
    { type: 'compare', runs: 'a' },
    { type: 'compare', runs: [1] },
    { type: 'episodes', run: 'x'.repeat(201) },
    { type: 'ready', more: 1 },
  ]) {
    assert.equal(isRunsTableToHost(wrong), false);
  }
});

test('runs as comma-separated values: outcomes with their bounds, settings of all, no formula of a title', () => {
  const csv = formatRunsCsv([
    tableRow('a', {
      title: '=1+1, "x"',
      tags: ['paper', 'b'],
      accuracyAfter: { value: 0.5, low: 0.25, high: 0.75, n: 8 },
      settings: { rate: '0.1', 'task.name': '"logic"' },
    }),
    tableRow('b', { settings: { 'task.name': '"logic"' } }),
  ]);
  const [header = '', first = '', second = ''] = csv.split('\r\n');
  assert.match(
    header,
    /^id,title,status,.*,accuracyAfter,accuracyAfterLow,accuracyAfterHigh,accuracyAfterN,.*,rate,task\.name$/,
  );
  assert.match(first, /^a,"'=1\+1, ""x""",done,.*"paper, b",,,,,,0\.5,0\.25,0\.75,8,.*,0\.1,logic$/);
  assert.match(second, /^b,b,done,.*,,logic$/);
});
