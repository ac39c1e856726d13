import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { z } from 'zod';
import { makeMathEvaluator } from '../../../../src/evaluate/evaluator.ts';
import { LIMITS } from '../../../../src/evaluate/math/exact/budget.ts';
import { gradeMath, GRADERS, RULES } from '../../../../src/evaluate/math/grade.ts';
import { uidSha } from '../../../../src/tasks/uid.ts';
import { isInputError } from '../../tasks/expect.ts';

/** Pairs with whether they are equal, and why. */
const PAIRS = readFileSync(new URL('../../../fixtures/math/pairs.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) =>
    z
      .strictObject({
        gold: z.string(),
        prediction: z.string(),
        equal: z.boolean(),
        source: z.string().min(10),
        rule: z.string().optional(),
      })
      .parse(JSON.parse(line)),
  );

test('the table of pairs: every one as mathematics has it', () => {
  assert.ok(PAIRS.length >= 150);
  for (const { gold, prediction, equal, source, rule } of PAIRS) {
    const verdict = gradeMath(gold, prediction, 'strict');
    assert.equal(verdict.score === 1, equal, `${source}: ${JSON.stringify([gold, prediction, verdict])}`);
    if (rule !== undefined) {
      assert.equal(verdict.rule, rule, JSON.stringify([gold, prediction]));
    }
  }
});

test('equality of bare answers has no direction', () => {
  for (const { gold, prediction, source } of PAIRS) {
    if (source.startsWith('extraction') || source.startsWith('hostile') || gold.includes('boxed')) {
      continue;
    }
    const [forth, back] = [gradeMath(gold, prediction, 'strict'), gradeMath(prediction, gold, 'strict')];
    if (forth.rule.startsWith('whole-message')) {
      assert.equal(back.score, forth.score, JSON.stringify([gold, prediction, forth, back]));
    }
  }
});

test('lenient accepts what the published grader was measured to accept, and names the rule; strict accepts none of it', () => {
  // Measured acceptances and refusals of the published grader, which calls itself exact match.
  const cases: [string, string, 0 | 1, string][] = [
    ['3', '2.6', 1, 'rounds to the whole gold number'],
    ['3', '3.4', 1, 'rounds to the whole gold number'],
    ['3', '2.5', 0, ''],
    ['3', '3.5', 0, ''],
    ['100', '100.4', 1, 'rounds to the whole gold number'],
    ['0.5', '0.52', 1, 'within 4 % of the gold'],
    ['0.5', '0.5205', 0, ''],
    ['1.25', '1.3', 1, 'within 4 % of the gold'],
    ['1/2', '0.51', 1, 'within 4 % of the gold'],
    ['-3.1', '-3.05', 1, 'within 4 % of the gold'],
    ['\\pi', '3.14', 1, 'within 4 % of the gold'],
    ['-\\pi', '-3.14', 0, ''],
    ['1/2', '13/25', 0, ''],
    ['50%', '50 cm', 1, 'unit or percent sign left out'],
    ['5 cm', '5 m', 1, 'unit or percent sign left out'],
    ['2', '2.5', 1, 'rounds to the whole gold number'],
    ['4', '4.5', 1, 'rounds to the whole gold number'],
    ['[1,2)', '(1,2)', 0, ''],
    ['(3, 1)', '(3.4, 1)', 1, 'rounds to the whole gold number'],
    ['x', 'X', 1, 'letter case left out'],
  ];
  for (const [gold, prediction, score, how] of cases) {
    assert.equal(gradeMath(gold, prediction, 'strict').score, 0, `strict ${gold} against ${prediction}`);
    const verdict = gradeMath(gold, prediction, 'lenient');
    assert.equal(verdict.score, score, `lenient ${gold} against ${prediction}: ${verdict.rule}`);
    if (score === 1) {
      assert.equal(verdict.rule, `whole-message: lenient, ${how}`);
    }
  }
  assert.deepEqual(gradeMath('5', 'First 3.\nSo there are 5 of them', 'lenient'), {
    score: 1,
    rule: 'last-number: equal numbers',
    answer: '5',
  });
  assert.equal(gradeMath('5', 'First 3.\nSo there are 5 of them', 'strict').rule, 'no-answer');
  assert.equal(gradeMath('5', '\\boxed{6} or 5', 'lenient').score, 0, 'a marked answer decides');
});

test('whatever strict accepts, lenient accepts by the same rule', () => {
  for (const { gold, prediction, equal } of PAIRS) {
    if (equal) {
      assert.deepEqual(gradeMath(gold, prediction, 'lenient'), gradeMath(gold, prediction, 'strict'));
    }
  }
});

test('every verdict names documented rules', () => {
  const places = Object.keys(RULES.places);
  const comparisons =
    /^(?:(?:equal|different) (?:numbers|expressions|tuples or intervals|tuples|sets|lists|unions|matrices|relations|texts|values)|different units|different kinds)$/u;
  for (const { gold, prediction } of PAIRS) {
    for (const grader of GRADERS) {
      const { rule } = gradeMath(gold, prediction, grader);
      if (Object.hasOwn(RULES.alone, rule)) {
        continue;
      }
      const [place = '', comparison = ''] = rule.split(': ');
      assert.ok(places.includes(place), rule);
      assert.ok(comparisons.test(comparison) || Object.hasOwn(RULES.comparisons, comparison), rule);
    }
  }
});

test('a size or a depth beyond the bounds is a limit, and unequal', () => {
  const brackets = 100_000;
  const hostile = [
    '('.repeat(brackets),
    ')'.repeat(brackets),
    `${'('.repeat(brackets)}5${')'.repeat(brackets)}`,
    `\\boxed{${'('.repeat(brackets)}5${')'.repeat(brackets)}}`,
    `#### ${'['.repeat(brackets)}`,
    '{'.repeat(brackets),
    `\\boxed{${'{'.repeat(400)}5${'}'.repeat(400)}}`,
    `${'['.repeat(45)}5${']'.repeat(45)}`,
    `${'\\sqrt{'.repeat(100)}5${'}'.repeat(100)}`,
    '9**'.repeat(300) + '9',
    `2^{${'2^{'.repeat(30)}2${'}'.repeat(31)}`,
    `(${'x+'.repeat(40)}y)^{90}`,
    '99!!',
    '½'.repeat(900),
    '5'.repeat(LIMITS.message + 1),
    `\\boxed{${'9'.repeat(990)}^{${'9'.repeat(5)}}}`,
    '(1+a)(1+b)(1+c)(1+d)(1+f)(1+g)(1+h)(1+j)(1+k)(1+l)'.repeat(3),
  ];
  for (const text of hostile) {
    for (const grader of GRADERS) {
      const verdict = gradeMath('5', text, grader);
      assert.deepEqual([verdict.score, verdict.rule], [0, 'limit'], `${text.slice(0, 40)} ${verdict.rule}`);
    }
    assert.equal(gradeMath(text, '5', 'strict').score, 0, `as the gold: ${text.slice(0, 40)}`);
  }
});

test('a hostile repetition of anything comes to an end', () => {
  const pieces = [
    '(',
    '1,',
    '(x+y)^9',
    '\\frac',
    '\\sqrt{',
    '√',
    '|',
    '\\pm1,',
    '5 cm ',
    '三',
    'x<',
    '\\begin{pmatrix}',
    '1/(x+1)+',
    '10007^(1/3)+',
    '答案是',
    '\\boxed{',
    '\u0000',
  ];
  for (const first of pieces) {
    for (const second of pieces) {
      const text = (first + second).repeat(Math.floor(990 / (first + second).length));
      for (const prediction of [text, `${text}1`, `${text}\n#### 5 apples`]) {
        const { score, rule } = gradeMath('5', prediction, 'lenient');
        assert.ok(rule.length > 0 && (score === 0 || !prediction.startsWith(rule)), JSON.stringify(first + second));
      }
    }
  }
});

test('a blank gold cannot be graded against; an unmarked message of several lines is no answer unless it is mathematics', () => {
  assert.throws(() => gradeMath(' \n', '5', 'strict'), isInputError(/blank gold/u));
  assert.equal(gradeMath('5', 'x\n= 5', 'strict').rule, 'whole-message: equal numbers');
  assert.equal(gradeMath('5', '5\nthat is it', 'strict').rule, 'no-answer');
});

test('the evaluator of a run masks a problem without an answer and grades the others', async () => {
  const problem = (answer: string): Parameters<ReturnType<typeof makeMathEvaluator>['evaluate']>[0] => ({
    uid: 'item',
    uidSha: uidSha('q'),
    question: 'q',
    answer,
    source: 'test',
    level: null,
  });
  assert.deepEqual(await makeMathEvaluator('strict').evaluate(problem('\\frac12'), '\\boxed{0.5}'), {
    score: 1,
    rule: 'boxed: equal numbers',
    answer: '0.5',
  });
  assert.equal((await makeMathEvaluator('lenient').evaluate(problem('3'), '\\boxed{3.4}')).score, 1);
  assert.equal((await makeMathEvaluator('strict').evaluate(problem(' '), '5')).rule, 'no-gold');
  assert.notEqual(makeMathEvaluator('strict').name, makeMathEvaluator('lenient').name);
});
