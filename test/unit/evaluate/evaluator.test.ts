import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { answerEvaluator } from '../../../src/evaluate/evaluator.ts';
import { uidSha } from '../../../src/tasks/uid.ts';

function problem(answer: string): Problem {
  return { uid: 'item', uidSha: uidSha('q'), question: 'q', answer, source: 'test', level: null };
}

test('the answer evaluator grades a message against its problem', async () => {
  assert.deepEqual(await answerEvaluator.evaluate(problem('28'), '14*2=28\n#### 28'), {
    score: 1,
    rule: 'hash-line: equal numbers',
    answer: '28',
  });
  assert.deepEqual(await answerEvaluator.evaluate(problem('28'), '14*2=28'), {
    score: 0,
    rule: 'no-answer',
    answer: null,
  });
});

test('a problem without an answer is masked, never a score', async () => {
  for (const answer of ['', ' \n']) {
    assert.deepEqual(await answerEvaluator.evaluate(problem(answer), '#### 28'), {
      score: null,
      rule: 'no-gold',
      masked: 'Problem item has no answer to compare with.',
    });
  }
});
