/** Which selections of runs can be compared. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { COMPARED_MOST } from '../../../src/shared/protocols/dashboardProtocol.ts';
import { describeChosen } from '../../../webview/runs/chosenRuns.ts';

it('from one run to as many as the dashboard lays over each other are compared', () => {
  assert.deepEqual(describeChosen(0), { words: 'Select runs to compare them', possible: false });
  assert.deepEqual(describeChosen(1), { words: '1 selected', possible: true });
  const most = COMPARED_MOST + 1;
  assert.equal(describeChosen(most).possible, true);
  assert.deepEqual(describeChosen(most + 1), {
    words: `${most + 1} selected; the dashboard compares at most ${most}`,
    possible: false,
  });
});
