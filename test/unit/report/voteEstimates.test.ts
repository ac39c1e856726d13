import assert from 'node:assert/strict';
import { it } from 'node:test';
import { estimateMessage, withVote } from '../../../src/report/estimates.ts';
import type { ShownVote } from '../../../src/shared/transcript/shownVote.ts';

const VOTE: ShownVote = {
  voters: [
    {
      message: 1,
      role: 'voter1',
      answer: 'A',
      chosen: true,
      without: ['B'],
      pivotal: true,
      contribution: 0.5,
      shapley: 0.25,
    },
    {
      message: 2,
      role: 'voter2',
      answer: 'B',
      chosen: false,
      without: ['A'],
      pivotal: true,
      contribution: null,
      shapley: null,
    },
  ],
  tally: [],
  ties: 'expected',
  tied: true,
  evaluatorCalls: 2,
};
const ESTIMATES = estimateMessage({ id: 1, bucket: null, credit: null }, []);

it('of a voter the vote without it and its Shapley value are listed beside replace and remove, with their cost', () => {
  assert.deepEqual(
    withVote(ESTIMATES, 1, VOTE).map(({ name, credit, measurable }) => [
      name,
      credit?.value ?? null,
      credit?.n ?? null,
      credit?.evaluatorCalls ?? null,
      measurable,
    ]),
    [
      ['replace', null, null, null, true],
      ['remove', null, null, null, true],
      ['fullMean', null, null, null, true],
      ['revote', 0.5, 1, 2, false],
      ['shapley', 0.25, 1, 2, false],
    ],
  );
});

it('says why where an answer has no score, and nothing of a message that no vote counted', () => {
  const [revote, shapley] = withVote(ESTIMATES, 2, VOTE).slice(-2);
  for (const one of [revote, shapley]) {
    assert.deepEqual([one?.credit, one?.reason], [null, 'an answer of the vote cannot be scored here']);
  }
  assert.equal(withVote(ESTIMATES, 3, VOTE), ESTIMATES);
  assert.equal(withVote(ESTIMATES, 1, null), ESTIMATES);
});
