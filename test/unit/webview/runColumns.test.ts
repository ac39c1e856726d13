import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunTableRow } from '../../../src/shared/protocols/runsTable.ts';
import type { TableColumn } from '../../../webview/runs/columns.ts';
import { makeDocument, MadeElement } from './madeDocument.ts';

makeDocument();
const { OWN_COLUMNS, settingColumn } = await import('../../../webview/runs/columns.ts');

test('tags and settings, which a narrow cell cuts, are whole on hovering', () => {
  const long = 'first of many tags'.repeat(20);
  const row: RunTableRow = {
    id: 'run',
    title: 'Run',
    tags: [long, 'b'],
    note: '',
    method: 'c3',
    seed: 1,
    status: 'done',
    createdAt: '2026-01-02T03:04:05.000Z',
    steps: 1,
    plannedSteps: 1,
    settings: { title: JSON.stringify(long) },
    accuracyBefore: null,
    accuracyAfter: null,
    passAt1Before: null,
    passAt1After: null,
    evaluatorCalls: null,
    tokens: null,
    seconds: null,
  };
  const titleOf = (column: TableColumn | undefined): string | undefined => {
    const made: unknown = column?.cell(row);
    assert.ok(made instanceof MadeElement);
    return made.attributes.get('title');
  };
  assert.equal(titleOf(OWN_COLUMNS.find(({ name }) => name === 'tags')), `${long}, b`);
  assert.equal(titleOf(settingColumn('title')), long);
});
