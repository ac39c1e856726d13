/** What the columns of the runs table show of a run. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { RunTableRow } from '../../../src/shared/protocols/runsTable.ts';
import { COST_COLUMNS, OUTCOME_COLUMNS } from '../../../webview/runs/columns.ts';
import { makeDocument } from './madeDocument.ts';

makeDocument();

const share = (value: number): RunTableRow['accuracyAfter'] => ({ value, low: null, high: null, n: 1 });
const ROW: RunTableRow = {
  ...{ id: 'a', title: 'a', tags: [], note: '', method: 'c3', seed: 1, status: 'done' },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', steps: 3, plannedSteps: 4, settings: {} },
  ...{ accuracyBefore: share(0.1), accuracyAfter: share(0.2), passAt1Before: share(0.3), passAt1After: share(0.4) },
  ...{ evaluatorCalls: 5, tokens: 6, seconds: null },
};

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
