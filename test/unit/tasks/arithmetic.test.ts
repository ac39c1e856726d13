import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArithmetic } from '../../../src/tasks/arithmetic/arithmetic.ts';
import type { ArithmeticProblem } from '../../../src/tasks/arithmetic/arithmetic.ts';
import { splitFingerprint } from '../../../src/tasks/uid.ts';
import { isInputError } from './expect.ts';

const SAMPLE = generateArithmetic({ seed: 'sample', count: 4000 });
const DISTRACTOR = /years old|degrees outside| also has \d+| has \d+ \w+( as well)?\.$/u;

function levelOf(problem: ArithmeticProblem): 1 | 2 | 3 | 4 {
  const level = problem.level;
  assert.ok(level === 1 || level === 2 || level === 3 || level === 4);
  return level;
}

interface Worked {
  readonly values: number[];
  readonly operators: string[];
  readonly lines: string[];
}

/** An evaluator of its own: left to right, no precedence. */
function work(plan: string): Worked {
  assert.match(plan, /^\d+([-+*/]\d+)+$/u);
  const tokens = plan.split(/([-+*/])/u);
  let value = Number(tokens[0]);
  const worked: Worked = { values: [value], operators: [], lines: [] };
  for (let index = 1; index < tokens.length; index += 2) {
    const operator = tokens[index] ?? '';
    const operand = Number(tokens[index + 1]);
    const results = new Map([
      ['+', value + operand],
      ['-', value - operand],
      ['*', value * operand],
      ['/', value / operand],
    ]);
    const result = results.get(operator);
    assert.ok(result !== undefined);
    worked.lines.push(`${value}${operator}${operand}=${result}`);
    worked.operators.push(operator);
    worked.values.push(result);
    value = result;
  }
  return worked;
}

/** A reader of its own: the plan that the sentences of a question say about its first person. */
function read(question: string): string {
  const sentences = question.split(/(?<=[.?])\s/u).slice(0, -1);
  const [first = '', ...others] = sentences;
  const person = /^(?:At first |In the morning )?([A-Z]\w+) /u.exec(first)?.[1] ?? '';
  const numbers = (sentence: string): string[] => sentence.match(/\d+/gu) ?? [];
  let plan = numbers(first).join('*');
  for (const sentence of others) {
    const number = numbers(sentence)[0] ?? '';
    if (/equal/u.test(sentence)) {
      plan += `/${number}`;
    } else if (/times|swaps/u.test(sentence)) {
      plan += `*${number}`;
    } else if (DISTRACTOR.test(sentence)) {
      continue;
    } else if (new RegExp(`from ${person}\\.|${person} (gives|sells|loses) `, 'u').test(sentence)) {
      plan += `-${number}`;
    } else if (new RegExp(`gives ${person} |${person} (buys|gets|takes|finds|wins) `, 'u').test(sentence)) {
      plan += `+${number}`;
    } else {
      assert.fail(`cannot read: ${sentence}`);
    }
  }
  return plan;
}

test('each plan, worked out left to right, gives the solution line by line and the answer', () => {
  for (const problem of SAMPLE) {
    const { values, lines } = work(problem.plan);
    assert.equal(problem.answer, String(values.at(-1)));
    assert.equal(problem.solution, [...lines, `#### ${problem.answer}`].join('\n'));
  }
});

test('each question describes its plan, event by event', () => {
  for (const problem of SAMPLE) {
    assert.equal(read(problem.question), problem.plan, problem.question);
  }
});

test('values are whole, not negative and within the bounds of the level', () => {
  const limit = { 1: 40, 2: 60, 3: 60, 4: 60 };
  for (const problem of SAMPLE) {
    const { values } = work(problem.plan);
    const start = values[0] ?? 0;
    assert.ok(start >= 2 && start <= 20, problem.plan);
    assert.ok(
      values.every((value) => Number.isInteger(value) && value >= 0 && value <= limit[levelOf(problem)]),
      problem.plan,
    );
  }
});

test('levels set the number of steps and the operators', () => {
  const steps = { 1: 2, 2: 2, 3: 3, 4: 4 };
  const seen = new Set<string>();
  for (const problem of SAMPLE) {
    const level = levelOf(problem);
    const { operators } = work(problem.plan);
    assert.equal(operators.length, steps[level], problem.plan);
    assert.equal(
      operators.some((operator) => operator === '*' || operator === '/'),
      level > 1,
      problem.plan,
    );
    operators.forEach((operator, position) => seen.add(`${level}${operator}${position}`));
  }
  // Every operator occurs at every position where its level allows it.
  assert.equal(seen.size, 2 * 2 + 4 * 2 + 4 * 3 + 4 * 4);
});

test('an irrelevant number is in about 30 % of the problems from level 2 on and in none of level 1', () => {
  const counts = { 1: [0, 0], 2: [0, 0], 3: [0, 0], 4: [0, 0] };
  for (const problem of SAMPLE) {
    const needed = problem.plan.split(/[-+*/]/u).length;
    const extra = (problem.question.match(/\d+/gu) ?? []).length - needed;
    assert.ok(extra === 0 || extra === 1, problem.question);
    const count = counts[levelOf(problem)];
    count[extra] = (count[extra] ?? 0) + 1;
  }
  for (const level of [1, 2, 3, 4] as const) {
    const [without = 0, distracted = 0] = counts[level];
    const expected = level === 1 ? 0 : 0.3;
    assert.ok(
      Math.abs(distracted / (without + distracted) - expected) < (level === 1 ? 1e-9 : 0.06),
      `level ${level}: ${distracted}`,
    );
  }
});

test('questions are filled in, end with a question and use short sentences in many words', () => {
  const openings = new Set<string>();
  for (const { question } of SAMPLE) {
    assert.match(question, /^[A-Za-z0-9 ,.]+ (H|Now h)ow many [a-z]+ (does|are) [A-Za-z ]+\?$/u);
    assert.ok(
      question.split(/(?<=[.?])\s/u).every((sentence) => sentence.split(' ').length <= 12),
      question,
    );
    for (const sentence of question.split(/(?<=[.?])\s/u)) {
      openings.add(
        sentence
          .replace(/\b[A-Z][a-z]{2}\b/gu, 'X')
          .replace(/\d+/gu, 'N')
          .replace(/\b[a-z]+s\b/gu, ''),
      );
    }
  }
  assert.ok(openings.size >= 30, `${openings.size} wordings`);
});

test('people in one question are distinguished', () => {
  for (const { question } of SAMPLE) {
    const clash =
      /([A-Z][a-z]{2}) gives \1 |([A-Z][a-z]{2}) (?:gets|takes) \d+ \w+ from \2\.|([A-Z][a-z]{2}) gives \d+ \w+ to \3\./u;
    assert.doesNotMatch(question, clash);
  }
});

test('a problem depends on the seed and its index alone', () => {
  const all = generateArithmetic({ seed: 's', count: 60 });
  assert.deepEqual(generateArithmetic({ seed: 's', count: 60 }), all);
  assert.deepEqual(generateArithmetic({ seed: 's', count: 7 }), all.slice(0, 7));
  const elsewhere = new Set(generateArithmetic({ seed: 't', count: 60 }).map((problem) => problem.uidSha));
  assert.equal(all.filter((problem) => elsewhere.has(problem.uidSha)).length, 0);
  assert.deepEqual(
    all.slice(0, 2).map((problem) => [problem.uid, problem.source]),
    [
      ['arithmetic-s-0', 'arithmetic'],
      ['arithmetic-s-1', 'arithmetic'],
    ],
  );
});

test('the problems of a seed stay the same from version to version', () => {
  // Published runs name their data by seed; a change of this value means that their data cannot be had again.
  assert.equal(
    splitFingerprint(generateArithmetic({ seed: 'published', count: 200 }).map((problem) => problem.uidSha)),
    '12e55bdfd7b64bdd93dec9e3ff5670c47fc75a2345ed92ea88c0956d87fa0a26',
  );
});

test('questions within one call are distinct', () =>
  assert.equal(new Set(SAMPLE.map((problem) => problem.question)).size, SAMPLE.length));

test('levels are mixed by weight', () => {
  const share = SAMPLE.filter((problem) => problem.level === 3).length / SAMPLE.length;
  assert.ok(Math.abs(share - 0.25) < 0.03, `share ${share}`);
  assert.ok(generateArithmetic({ seed: 'w', count: 50, levels: [0, 1] }).every((problem) => problem.level === 2));
  const mixed = generateArithmetic({ seed: 'w', count: 2000, levels: [1, 0, 0, 3] });
  const first = mixed.filter((problem) => problem.level === 1).length;
  assert.equal(mixed.filter((problem) => problem.level === 4).length, 2000 - first);
  assert.ok(Math.abs(first / 2000 - 0.25) < 0.03, `share ${first / 2000}`);
});

test('no problems can be asked for; impossible counts and mixes are refused', () => {
  assert.deepEqual(generateArithmetic({ seed: 's', count: 0 }), []);
  for (const count of [-1, 1.5, Number.NaN, 1_000_001]) {
    assert.throws(
      () => generateArithmetic({ seed: 's', count }),
      isInputError(/ask for a whole number from 0 to 1000000/u),
    );
  }
  for (const levels of [[], [0, 0], [1, -1], [Number.NaN], [1, 1, 1, 1, 1, 1, 1, 1, 1], [Number.POSITIVE_INFINITY]]) {
    assert.throws(() => generateArithmetic({ seed: 's', count: 1, levels }), isInputError(/are not valid/u));
  }
});
