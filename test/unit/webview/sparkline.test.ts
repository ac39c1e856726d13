/** Where the outcomes of a problem lie in the small line of the list of episodes. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ProblemRound } from '../../../src/domain/problem.ts';
import { sparkPoints } from '../../../webview/episodes/columns.ts';

const rounds = (...means: readonly (number | null)[]): readonly ProblemRound[] =>
  means.map((mean, index) => ({ phase: 'train', iteration: index + 1, mean, episodes: 1 }));

it('a higher return lies higher, from the least to the highest return, and what was masked is left out', () => {
  const [lost, half, won, ...more] = sparkPoints(rounds(0, null, 0.5, 1), null);
  assert.ok(lost !== undefined && half !== undefined && won !== undefined && more.length === 0);
  // Pixels are counted from the top.
  assert.ok(won.y < half.y && half.y < lost.y, JSON.stringify([won.y, half.y, lost.y]));
  assert.equal(half.y, (won.y + lost.y) / 2);
  assert.ok(lost.x < half.x && half.x < won.x);
  const [least, highest] = sparkPoints(rounds(-2, 4), { low: -2, high: 4, solved: 4 });
  assert.deepEqual([least?.y, highest?.y], [lost.y, won.y]);
});
