import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gradeAnswer } from '../../../src/evaluate/answer.ts';
import { extractAnswer, type ExtractionRule } from '../../../src/evaluate/math/extract.ts';
import { generateArithmetic } from '../../../src/tasks/arithmetic/arithmetic.ts';
import { isInputError } from '../tasks/expect.ts';

function extracts(vectors: readonly (readonly [string, ExtractionRule, string | null])[]): void {
  for (const [text, rule, answer] of vectors) {
    assert.deepEqual(extractAnswer(text), { answer, rule }, JSON.stringify(text));
  }
}

test('the last #### line wins over everything', () => {
  extracts([
    ['12+7=19\n#### 19', 'hash-line', '19'],
    ['#### 1\nno, wait\n#### 2\nbye 3', 'hash-line', '2'],
    ['####19', 'hash-line', '19'],
    ['So #### 19.', 'hash-line', '19'],
    ['#### 1 #### 2', 'hash-line', '2'],
    ['#### 5\r\n\\boxed{6}\nThe answer is 7', 'hash-line', '5'],
    ['#### **$1,234**', 'hash-line', '$1,234'],
    ['#### 28 apples', 'hash-line', '28 apples'],
    ['#### 4\n####', 'hash-line', '4'],
    ['#### 4\n#### ...', 'hash-line', '4'],
    ['##### 4', 'no-answer', null],
    ['### 4', 'no-answer', null],
  ]);
});

test('then the last balanced box', () => {
  extracts([
    ['\\boxed{3}', 'boxed', '3'],
    ['\\boxed{3} or \\boxed {4}. The answer is 5', 'boxed', '4'],
    ['\\boxed{\\frac{1}{2}}', 'boxed', '\\frac{1}{2}'],
    ['\\boxed{\\{1, 2\\}}', 'boxed', '\\{1, 2\\}'],
    ['\\boxed{[1, 2\\}}', 'boxed', '[1, 2\\}'],
    ['\\boxed{\\boxed{7}}', 'boxed', '7'],
    ['\\boxed{3} and cut \\boxed{4', 'boxed', '3'],
    ['an open { and \\boxed{3}', 'boxed', '3'],
    ['} stray \\boxed{3}', 'boxed', '3'],
    ['\\boxed{3} \\boxed{ }', 'boxed', '3'],
    ['\\boxed{4', 'no-answer', null],
    ['\\boxed 4', 'no-answer', null],
  ]);
});

test('then the last stated answer, to the end of its sentence', () => {
  extracts([
    ['The answer is 5.', 'answer-phrase', '5'],
    ['The answer is 5. It was 6 before.', 'answer-phrase', '5'],
    ['the answer is not 4. The answer is 3.4. Good', 'answer-phrase', '3.4'],
    ['Final answer: 1,234\nthanks', 'answer-phrase', '1,234'],
    ['ANSWER = -7', 'answer-phrase', '-7'],
    ['The answer is: $42$', 'answer-phrase', '42'],
    ['**Answer:** 1/2', 'answer-phrase', '1/2'],
    ['**Answer**: \\(8\\)', 'answer-phrase', '8'],
    ['answer: 5\nAnswer:', 'answer-phrase', '5'],
    ["The answer isn't 5", 'no-answer', null],
    ['Is the answer 5?', 'no-answer', null],
    ['answers: 5', 'no-answer', null],
  ]);
});

test('a last number alone is no answer', () => {
  extracts([
    ['12+7=19', 'no-answer', null],
    ['42', 'no-answer', null],
    ['', 'no-answer', null],
  ]);
  assert.deepEqual(gradeAnswer('42', '42'), { score: 0, rule: 'no-answer', answer: null });
});

test("numbers are compared exactly: none of the published grader's acceptances", () => {
  const wrong: [string, string][] = [
    ['3', '3.4'],
    ['3', '2.6'],
    ['3', '3.0000000000000000001'],
    ['100', '100.4'],
    ['0.5', '0.52'],
    ['1.25', '1.3'],
    ['1/2', '0.51'],
    ['-3.1', '-3.05'],
    ['50', '50%'],
    ['1/2', '1 1/2'],
    ['1 1/2', '1/2'],
    ['1/3', '0.3333333333333333'],
    ['9007199254740992', '9007199254740993'],
    ['5', '-5'],
    ['1234', '1,23,4'],
    ['28', '28 apples'],
    ['28', '12+16'],
    ['28', '2 8'],
  ];
  for (const [gold, answer] of wrong) {
    assert.equal(gradeAnswer(gold, `#### ${answer}`).score, 0, `${gold} against ${answer}`);
  }
  const right: [string, string][] = [
    ['3', '3.0'],
    ['1234', '1,234'],
    ['1,234', '1234'],
    ['1 1/2', '1.5'],
    ['1/2', '50%'],
    ['0.5', '2/4'],
    ['-3.1', '\u22123.10'],
    ['$18', '18'],
    ['70000', '$70,000'],
    ['steps\n#### 18', '18'],
    ['\\boxed{3}', '3'],
    ['7.', '7'],
  ];
  for (const [gold, answer] of right) {
    assert.equal(gradeAnswer(gold, `#### ${answer}`).score, 1, `${gold} against ${answer}`);
  }
});

test('texts are compared without regard to case, composition and the amount of whitespace', () => {
  assert.equal(gradeAnswer('Caf\u00e9  noir', '#### cafe\u0301 NOIR.').score, 1);
  assert.equal(gradeAnswer('(1, 2)', '\\boxed{(1,  2)}').score, 1);
  assert.equal(gradeAnswer('[1, 2)', '#### (1, 2)').score, 0);
  assert.equal(gradeAnswer('Monday', '#### Mon day').score, 0);
  assert.equal(gradeAnswer('...', '#### x').score, 0);
});

test('the verdict says where the answer was and how it compared', () => {
  assert.deepEqual(gradeAnswer('19', '#### 19.0'), { score: 1, rule: 'hash-line: equal numbers', answer: '19.0' });
  assert.deepEqual(gradeAnswer('19', 'The answer is 20'), {
    score: 0,
    rule: 'answer-phrase: different numbers',
    answer: '20',
  });
  assert.deepEqual(gradeAnswer('yes', '\\boxed{Yes}'), { score: 1, rule: 'boxed: equal texts', answer: 'Yes' });
  assert.deepEqual(gradeAnswer('19', '#### nineteen'), {
    score: 0,
    rule: 'hash-line: different texts',
    answer: 'nineteen',
  });
});

test('a blank gold cannot be graded against', () =>
  assert.throws(() => gradeAnswer(' \n', '#### 1'), isInputError(/blank gold/u)));

test('every demonstration of the arithmetic task is right, and right for no other answer', () => {
  const problems = generateArithmetic({ seed: 'grade', count: 200 });
  for (const gold of problems) {
    for (const { solution, answer } of problems.slice(0, 20)) {
      assert.equal(gradeAnswer(gold.answer, solution).score, gold.answer === answer ? 1 : 0);
    }
    assert.equal(gradeAnswer(gold.answer, gold.solution).score, 1);
  }
});

test('an answer is at most 1000 characters', () => {
  extracts([
    [`#### ${'a'.repeat(999)}`, 'hash-line', 'a'.repeat(999)],
    [`#### ${'a'.repeat(1000)}`, 'no-answer', null],
    [`\\boxed{${'a'.repeat(1001)}}`, 'no-answer', null],
    [`The answer is 5. ${'a'.repeat(2000)}`, 'answer-phrase', '5'],
  ]);
});

test('hostile repetition is read to its end', () => {
  const size = 200_000;
  for (const piece of [
    '#### ',
    '####',
    '\\boxed{',
    '\\boxed{1}',
    '{',
    '}',
    'answer is ',
    'answer',
    ' ',
    '*',
    '.',
    '$',
    '#### 1\n',
  ]) {
    const text = `${piece.repeat(Math.ceil(size / piece.length))}x`;
    const { answer, rule } = extractAnswer(`${text}\n#### 7`);
    assert.deepEqual([answer, rule], ['7', 'hash-line'], piece);
    assert.equal(typeof extractAnswer(text).rule, 'string');
  }
});
