/** Notes beside the summary of a run. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DashboardSnapshot } from '../../../src/shared/protocols/dashboardProtocol.ts';
import { makeDocument } from './madeDocument.ts';

makeDocument();
const { judgeNote } = await import('../../../webview/dashboard/summary.ts');

test('the reliability of a model judge is noted as text, and nothing without a judge', () => {
  const said = 'The judge agreed with <b>labels</b> in 19 of 20 answers.';
  const snapshot = { judge: said } as DashboardSnapshot;
  assert.equal(judgeNote(snapshot)?.textContent, said);
  assert.equal(judgeNote({ ...snapshot, judge: null }), null);
});
