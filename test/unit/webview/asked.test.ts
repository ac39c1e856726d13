/** Another run that is chosen while a view is held is shown, whatever of the run before arrives first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestedRuns } from '../../../webview/dashboard/asked.ts';

test('an answer that was on its way before another run was chosen does not count for it', () => {
  const asked = new RequestedRuns();
  asked.answered(['one']);
  assert.ok(asked.waiting, 'the first steps are on their way');
  asked.complete();
  // The reader chooses another run; the store changed just before.
  assert.equal(asked.answered(['one']), false);
  assert.equal(asked.waiting, false);
  assert.equal(asked.answered(['other']), true);
  assert.ok(asked.waiting);
  asked.complete();
  assert.equal(asked.answered(['other', 'one']), true, 'one more is laid over it');
});
