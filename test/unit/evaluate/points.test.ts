import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { pointsEvaluator } from '../../../src/evaluate/evaluator.ts';
import { getEvaluatorKind } from '../../../src/evaluate/kinds.ts';
import { makeEvaluator } from '../../../src/evaluate/named.ts';
import { gradePoints, parsePoints } from '../../../src/evaluate/points.ts';

const ANSWER = 'red: 2, blue: 1; 7: 3; of 5';
const problem = (answer: string): Problem => ({
  uid: 'item',
  uidSha: 'ab',
  question: 'q',
  answer,
  source: 'test',
  level: null,
});
const score = (message: string): number | null => {
  const key = parsePoints(ANSWER);
  return key === null ? null : gradePoints(key, message).score;
};

describe('points', () => {
  it('add up over the parts of a message, as a share of the total', () => {
    assert.deepEqual(
      ['red, 7', 'blue, 7', 'red, 8', 'green, 7', 'green, 8', ' RED ,\n7 '].map(score),
      [1, 0.8, 0.4, 0.6, 0, 1],
    );
  });

  it('need as many parts as the key has, in its order', () => {
    assert.deepEqual(['red', 'red, 7, 7', '7, red', '', ',', 'red, 7,'].map(score), [0, 0, 0, 0, 0, 0]);
    assert.equal(score(`red, 7${', 7'.repeat(100_000)}`), 0);
  });

  it('say where they come from', async () => {
    assert.deepEqual(await pointsEvaluator.evaluate(problem(ANSWER), 'blue, 7'), {
      score: 0.8,
      rule: 'points: 4 of 5 (1, 3)',
    });
    assert.match((await pointsEvaluator.evaluate(problem(ANSWER), 'blue')).rule, /does not have 2 parts/u);
  });

  it('are masked where an answer lists none', async () => {
    for (const text of [
      '',
      '14',
      'red: 2',
      'red: 2; of',
      'red; of 3',
      'red: -1; of 3',
      'red: 4; of 3',
      'a: 1, a: 2; of 3',
      'a: 1; of 0',
      ': 1; of 2',
      'a: 1e3; of 2000',
      '; of 3',
    ]) {
      assert.equal(parsePoints(text), null, text);
    }
    const { score: none, masked } = await pointsEvaluator.evaluate(problem('14'), '14');
    assert.equal(none, null);
    assert.match(masked ?? '', /problem item lists no points/u);
  });

  it('are an evaluator of their own, and that of answers in their form', async () => {
    const unused = (): never => assert.fail('no code is run');
    const grader = { grade: unused, functions: unused };
    for (const [name, form] of [
      ['points', 'mathematics'],
      ['auto', 'points'],
    ] as const) {
      const found = await makeEvaluator(name, form, () => grader).evaluate(problem(ANSWER), 'red, 7');
      assert.equal(found.score, 1, name);
    }
    assert.equal(getEvaluatorKind('points').fault([problem(ANSWER)]), null);
    assert.match(getEvaluatorKind('points').fault([problem(ANSWER), problem('3')]) ?? '', /"item" has another form/u);
  });
});
