import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MOST_ROLLOUTS, type RemovalRows } from '../../../../src/domain/stepRows.ts';
import { RunRemovals } from '../../../../src/extension/dashboard/dashboardSession.ts';

/** Of each step one question with so many episodes, all right, and as many solo rollouts, all wrong. */
function reader(perStep: number, asked: number[] = []): RemovalRows {
  const message = { role: 'thinker', text: 'plan', finish: 'end', tokenCount: 2, trainingCredit: { value: 1 } };
  const empty = { ...message, text: '', finish: 'typed', trainingCredit: null };
  return {
    episodes: ({ iteration }) => {
      asked.push(iteration);
      return Array.from({ length: 2 * perStep }, (_, leaf) => ({ problem: 'a', leaf, return: leaf < perStep ? 1 : 0 }));
    },
    chain: (leaf) => [leaf < perStep ? message : empty],
  };
}

it('reads one step at a time, those that have ended, once', () => {
  const [removals, asked] = [new RunRemovals(), [] as number[]];
  const rows = reader(3, asked);
  assert.equal(removals.of('run'), null);
  while (removals.advance(rows, 'run', 2)) {}
  assert.deepEqual([removals.of('run')?.rollouts, removals.of('run')?.team, removals.of('run')?.without], [6, 1, 0]);
  assert.equal(removals.of('run'), removals.of('run'), 'the same until more is read');
  while (removals.advance(rows, 'run', 3)) {}
  assert.deepEqual([removals.of('run')?.rollouts, asked], [9, [1, 2, 3]]);
});

it('looks at steps spread evenly over a long run, and keeps no more than it says', () => {
  const [removals, asked] = [new RunRemovals(), [] as number[]];
  const rows = reader(1000, asked);
  while (removals.advance(rows, 'run', 60)) {}
  const found = removals.of('run')?.rollouts ?? 0;
  assert.ok(found <= MOST_ROLLOUTS && found >= MOST_ROLLOUTS / 2, String(found));
  assert.ok(asked.length < 40, String(asked.length));
  assert.ok((asked.at(-1) ?? 0) > 50, 'to the end');
});
