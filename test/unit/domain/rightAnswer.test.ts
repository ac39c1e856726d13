/** What a person says is right, and how it is compared. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { RE2JS } from 're2js';
import { chooseAnswerEvaluator, rightAnswer } from '../../../src/domain/problem.ts';

it('a number is compared as a number, any other text must be found as it is', () => {
  for (const number of ['17', ' -3.5 ', '1,234', '2/3', '40 %']) {
    assert.deepEqual(rightAnswer(number), { answer: number.trim(), evaluator: 'auto' });
  }
  for (const text of ['Paris', 'a+b (or [c])', 'C:\\x', '1.2.3', '^$|{}?*']) {
    const { answer, evaluator } = rightAnswer(text);
    assert.equal(evaluator, 'pattern');
    assert.ok(RE2JS.compile(answer).matcher(`It is ${text}, surely.`).find());
    assert.ok(!RE2JS.compile(answer).matcher('It is not that.').find());
    assert.equal(chooseAnswerEvaluator(answer), 'pattern');
  }
});
