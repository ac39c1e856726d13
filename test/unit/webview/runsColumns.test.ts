/** What the columns of the runs table show of a run. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { RunTableRow } from '../../../src/shared/protocols/runsTable.ts';
import type { TableColumn } from '../../../webview/runs/columns.ts';
import { tableRow } from '../../support/tableRow.ts';
import { makeDocument, MadeElement } from './madeDocument.ts';

makeDocument();
const { COST_COLUMNS, OUTCOME_COLUMNS, OWN_COLUMNS, settingColumn } = await import('../../../webview/runs/columns.ts');

const share = (value: number): RunTableRow['accuracyAfter'] => ({ value, low: null, high: null, n: 1 });
const ROW = tableRow('a', {
  plannedSteps: 4,
  ...{ accuracyBefore: share(0.1), accuracyAfter: share(0.2), passAt1Before: share(0.3), passAt1After: share(0.4) },
  ...{ evaluatorCalls: 5, tokens: 6 },
});

it('each column shows the value that its title names', () => {
  const shown = [...OUTCOME_COLUMNS, ...COST_COLUMNS].map(({ title, cell }): [string, string] => {
    const words = cell(ROW);
    return [title, typeof words === 'string' ? words : (words.children[0] ?? words).textContent];
  });
  const { Started: _, ...found } = Object.fromEntries(shown);
  assert.deepEqual(found, {
    'Accuracy before': '10.0 %',
    'Accuracy after': '20.0 %',
    'pass@1 before': '30.0 %',
    'pass@1 after': '40.0 %',
    Status: 'done',
    Steps: '3 / 4',
    Calls: '5',
    Tokens: '6',
    Time: '–',
  });
});

it('tags and settings, which a narrow cell cuts, are whole on hovering', () => {
  const long = 'first of many tags'.repeat(20);
  const row = tableRow('run', { tags: [long, 'b'], settings: { title: JSON.stringify(long) } });
  const titleOf = (column: TableColumn | undefined): string | undefined => {
    const made: unknown = column?.cell(row);
    assert.ok(made instanceof MadeElement);
    return made.attributes.get('title');
  };
  assert.equal(titleOf(OWN_COLUMNS.find(({ name }) => name === 'tags')), `${long}, b`);
  assert.equal(titleOf(settingColumn('title')), long);
});
