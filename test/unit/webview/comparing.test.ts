/** Which selections of runs can be compared. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { COMPARED_MOST } from '../../../src/shared/protocols/dashboardProtocol.ts';
import { comparing } from '../../../webview/runs/comparing.ts';

it('from one run to as many as the dashboard lays over each other are compared', () => {
  assert.deepEqual(comparing(0), { words: 'Select runs to compare them', possible: false });
  assert.deepEqual(comparing(1), { words: '1 selected', possible: true });
  const most = COMPARED_MOST + 1;
  assert.equal(comparing(most).possible, true);
  assert.deepEqual(comparing(most + 1), {
    words: `${String(most + 1)} selected; the dashboard compares at most ${String(most)}`,
    possible: false,
  });
});
