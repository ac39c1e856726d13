/** What the editor reads of a finding. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messageOfFinding } from '../../../../src/extension/configuration/messageOfFinding.ts';
import { formatFindingLabel } from '../../../../src/extension/findings/findingLabel.ts';

describe('a finding in the editor', () => {
  it('has the name of its file', () => assert.equal(formatFindingLabel('/a/findings/plan-17.finding.yaml'), 'plan-17'));

  it('leads to its message, and nowhere where the text is no finding', () => {
    assert.deepEqual(messageOfFinding('from: {run: c3-0-a, message: 17}\n'), { run: 'c3-0-a', message: 17 });
    for (const text of ['', '- a', 'from: 17', 'from: {run: 1, message: 2}', 'from: {run: a, message: 1.5}', 'a: *b']) {
      assert.equal(messageOfFinding(text), null, text);
    }
  });
});
