/** A row of the runs table. */

import type { RunTableRow } from '../../src/shared/protocols/runsTable.ts';

export const tableRow = (id: string, changes: Partial<RunTableRow> = {}): RunTableRow => ({
  id,
  title: id,
  tags: [],
  note: '',
  method: 'c3',
  seed: 1,
  status: 'done',
  createdAt: '2026-01-01T00:00:00.000Z',
  steps: 3,
  plannedSteps: 3,
  settings: {},
  accuracyBefore: null,
  accuracyAfter: null,
  passAt1Before: null,
  passAt1After: null,
  evaluatorCalls: null,
  tokens: null,
  seconds: null,
  ...changes,
});
