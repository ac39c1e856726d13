import assert from 'node:assert/strict';
import { it } from 'node:test';
import { evaluationRound, roundsInOrder } from '../../../src/domain/evaluation.ts';

it('the evaluations of a run come in the order in which it makes them, whatever their numbers', () => {
  // After training are 3 and 4, during it the numbers from 5 on: two for each step.
  const rounds = roundsInOrder([4, 9, 3, 6, 5, 10, 2, 1, 0, -1]);
  assert.deepEqual(
    rounds.map(({ iteration, stage, step, kind }) => `${iteration} ${stage} ${String(step)} ${kind}`),
    [
      '1 before 0 greedy',
      '2 before 0 sampled',
      '5 during 1 greedy',
      '6 during 1 sampled',
      '9 during 3 greedy',
      '10 during 3 sampled',
      '3 after null greedy',
      '4 after null sampled',
    ],
  );
  assert.equal(evaluationRound(1.5), null);
});
