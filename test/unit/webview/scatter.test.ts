/** The points of a trial's scatter. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { groupScatterPoints } from '../../../webview/trial/scatter.ts';

const problem = (before: number, after: number) => ({ question: 'x', pairs: 1, before, after });

it('problems with the same two returns are one point, and no large point hides a smaller one', () => {
  assert.deepEqual(groupScatterPoints([problem(0, 1), problem(1, 0), problem(1, 0), problem(0.5, 0.5)]), [
    { before: 1, after: 0, problems: 2 },
    { before: 0, after: 1, problems: 1 },
    { before: 0.5, after: 0.5, problems: 1 },
  ]);
  assert.deepEqual(groupScatterPoints([]), []);
});
