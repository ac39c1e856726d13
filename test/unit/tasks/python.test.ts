import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overlapReport } from '../../../src/tasks/overlap.ts';
import { distinctPythonProblems } from '../../../src/tasks/python/python.ts';
import { generateSplit, sideOf } from '../../../src/tasks/split.ts';
import { splitFingerprint, uidSha } from '../../../src/tasks/uid.ts';
import { isInputError } from './expect.ts';
import { ALL_LEVELS, sample } from './pythonSample.ts';

const SAMPLE = sample('sample', 3000);

type Value = number | string | number[];

/**
 * A reader of its own: what the words of a question ask for, in terms of arrays and numbers, without the generator's
 * expressions.
 */
const HELPERS: readonly [RegExp, (get: (name: string) => Value, ...words: string[]) => Value][] = [
  [/^the (?:larger|bigger) of (\w+) and (\w+)$/u, (get, a = '', b = '') => Math.max(num(get(a)), num(get(b)))],
  [/^the (?:smaller|lesser) of (\w+) and (\w+)$/u, (get, a = '', b = '') => Math.min(num(get(a)), num(get(b)))],
  [
    /^(?:the distance between|how far) (\w+) (?:and|is from) (\w+)$/u,
    (get, a = '', b = '') => Math.abs(num(get(a)) - num(get(b))),
  ],
  [/^(?:the sum of )?(\w+) (?:and|plus) (\w+)$/u, (get, a = '', b = '') => num(get(a)) + num(get(b))],
  [/^(?:the product of )?(\w+) (?:and|times) (\w+)$/u, (get, a = '', b = '') => num(get(a)) * num(get(b))],
  [/^(\w+) (?:minus|less) (\w+)$/u, (get, a = '', b = '') => num(get(a)) - num(get(b))],
  [
    /^the (?:spread|largest minus the smallest) of (\w+), (\w+) and (\w+)$/u,
    (get, ...names) => {
      const sorted = names.map((name) => num(get(name))).sort((x, y) => x - y);
      return (sorted[2] ?? 0) - (sorted[0] ?? 0);
    },
  ],
  [
    /^the larger of (\w+) and (\w+), minus (\w+)$/u,
    (get, a = '', b = '', c = '') => Math.max(num(get(a)), num(get(b))) - num(get(c)),
  ],
  [
    /^the sum of (\w+) and (\w+) divided by (\d+), rounded down$/u,
    (get, a = '', b = '', k = '') => Math.floor((num(get(a)) + num(get(b))) / Number(k)),
  ],
  [/^(\d+) times (\w+), plus (\w+)$/u, (get, k = '', a = '', b = '') => Number(k) * num(get(a)) + num(get(b))],
  [
    /^the remainder of (\w+) plus (\w+) divided by (\d+)$/u,
    (get, a = '', b = '', k = '') => {
      const rest = (num(get(a)) + num(get(b))) % Number(k);
      return rest < 0 ? rest + Number(k) : rest + 0;
    },
  ],
  [/^the (?:sum|total) of (\w+)$/u, (get, xs = '') => total(get(xs))],
  [
    /^the (?:largest|maximum) of (\w+),? (?:\(0|or 0) if it is empty\)?$/u,
    (get, xs = '') => sorted(get(xs)).at(-1) ?? 0,
  ],
  [/^the (?:smallest|minimum) of (\w+),? (?:\(0|or 0) if it is empty\)?$/u, (get, xs = '') => sorted(get(xs))[0] ?? 0],
  [
    /^the largest minus the smallest of (\w+) \(0 if it is empty\)$/u,
    (get, xs = '') => (sorted(get(xs)).at(-1) ?? 0) - (sorted(get(xs))[0] ?? 0),
  ],
  [
    /^the sum of (\w+) without its largest item \(0 if it is empty\)$/u,
    (get, xs = '') =>
      sorted(get(xs))
        .slice(0, -1)
        .reduce((sum, x) => sum + x, 0),
  ],
  [
    /^the first (\w+) (?:items|letters) of (\w+)(?: \(none if \w+ is negative\))?$/u,
    (get, k = '', of = '') => parts(get, of, (index) => index < count(get, k)),
  ],
  [
    /^(\w+) cut after (\w+) (?:items|letters)$/u,
    (get, of = '', k = '') => parts(get, of, (index) => index < count(get, k)),
  ],
  [
    /^(\w+) without its first (\w+) (?:items|letters)(?: \(all of it if \w+ is negative\))?$/u,
    (get, of = '', k = '') => parts(get, of, (index) => index >= count(get, k)),
  ],
  [
    /^the last (\w+) (?:items|letters) of (\w+)$/u,
    (get, k = '', of = '') => parts(get, of, (index, length) => length - index <= count(get, k)),
  ],
  [
    /^(\w+) without its last (\w+) (?:items|letters)$/u,
    (get, of = '', k = '') => parts(get, of, (index, length) => length - index > count(get, k)),
  ],
  [/^(\w+) (?:in reverse order|backwards)$/u, (get, of = '') => backwards(get(of))],
  [
    /^every second one of the (?:items|letters) of (\w+), from the first on$/u,
    (get, of = '') => parts(get, of, (index) => index % 2 === 0),
  ],
  [
    /^(\w+) repeated (\w+) times$/u,
    (get, of = '', k = '') =>
      joined(
        Array.from({ length: Math.max(0, count(get, k)) }, () => get(of)),
        get(of),
      ),
  ],
];
const USES: readonly [RegExp, (it: Value, get: (name: string) => Value, ...words: string[]) => Value][] = [
  [/^(?:add|increase it by) (\d+)(?: to it)?$/u, (it, _, k = '') => num(it) + Number(k)],
  [/^(?:subtract|lower it by) (\d+)(?: from it)?$/u, (it, _, k = '') => num(it) - Number(k)],
  [/^multiply it by (\d+)$/u, (it, _, k = '') => num(it) * Number(k) + 0],
  [/^subtract it from (\d+)$/u, (it, _, k = '') => Number(k) - num(it)],
  [/^(?:cap it at|make it at most) (\d+)$/u, (it, _, k = '') => (num(it) > Number(k) ? Number(k) : it)],
  [
    /^(?:raise it to|make it at least) (\d+)(?: if it is less)?$/u,
    (it, _, k = '') => (num(it) < Number(k) ? Number(k) : it),
  ],
  [/^keep it between 0 and (\d+)$/u, (it, _, k = '') => (num(it) < 0 ? 0 : num(it) > Number(k) ? Number(k) : it)],
  [/^(?:drop its sign|make it positive)$/u, (it) => (num(it) < 0 ? -num(it) : it)],
  [/^add the length of (\w+) to it$/u, (it, get, xs = '') => num(it) + lengthOf(get(xs))],
  [/^(?:take its length|count its (?:letters|items))$/u, (it) => lengthOf(it)],
  [/^(?:add up its items|take its sum)$/u, (it) => total(it)],
  [/^take its sum times (\d+)$/u, (it, _, k = '') => total(it) * Number(k) + 0],
  [/^take its largest item \(0 if there is none\)$/u, (it) => sorted(it).at(-1) ?? 0],
  [
    /^repeat it (\d+) times$/u,
    (it, _, k = '') =>
      joined(
        Array.from({ length: Number(k) }, () => it),
        it,
      ),
  ],
  [/^(?:put|append) '(.)' (?:to|after) it$/u, (it, _, mark = '') => `${text(it)}${mark}`],
  [/^put '(.)' before it$/u, (it, _, mark = '') => `${mark}${text(it)}`],
  [/^(?:put|append)(?: all of)? (\w+) (?:to|after) it$/u, (it, get, of = '') => joined([it, get(of)], it)],
  [/^put (\w+) before it$/u, (it, get, of = '') => joined([get(of), it], it)],
];

const num = (value: Value): number => {
  assert.ok(typeof value === 'number');
  return value;
};
const text = (value: Value): string => {
  assert.ok(typeof value === 'string');
  return value;
};
const list = (value: Value): number[] => {
  assert.ok(typeof value === 'object');
  return value;
};
const total = (value: Value): number => list(value).reduce((sum, x) => sum + x, 0);
const sorted = (value: Value): number[] => [...list(value)].sort((x, y) => x - y);
const lengthOf = (value: Value): number => (typeof value === 'string' ? value : list(value)).length;
const count = (get: (name: string) => Value, word: string): number =>
  /^\d+$/u.test(word) ? Number(word) : num(get(word));
const backwards = (value: Value): Value =>
  typeof value === 'string' ? Array.from(value).reverse().join('') : [...list(value)].reverse();
function parts(get: (name: string) => Value, of: string, keep: (index: number, length: number) => boolean): Value {
  const value = get(of);
  return typeof value === 'string'
    ? Array.from(value)
        .filter((_, index) => keep(index, value.length))
        .join('')
    : list(value).filter((_, index) => keep(index, lengthOf(value)));
}
const joined = (values: readonly Value[], like: Value): Value =>
  typeof like === 'string' ? values.join('') : values.flatMap((value) => list(value));

function read(question: string): { names: string[]; helper: string; use: string; called: string } {
  const frames = [
    /^Write (\w+)\((.*?)\)\. Take (.*), then (.*)\.$/u,
    /^Define (\w+)\((.*?)\): find (.*), (.*) and return that\.$/u,
    /^Write a function (\w+)\((.*?)\)\. First find (.*)\. Then (.*) and return the result\.$/u,
    /^(\w+)\((.*?)\) finds (.*)\. After that, (.*)\.$/u,
  ];
  const match = frames.map((frame) => frame.exec(question)).find((found) => found !== null);
  assert.ok(match, question);
  const [, called = '', names = '', helper = '', use = ''] = match;
  return { called, names: names.split(', '), helper, use };
}

function asked(question: string, inputs: readonly Value[]): Value {
  const { names, helper, use } = read(question);
  const get = (name: string): Value => {
    const value = inputs[names.indexOf(name)];
    assert.ok(value !== undefined, `${name} in ${question}`);
    return value;
  };
  const meant = HELPERS.filter(([pattern]) => pattern.test(helper));
  const used = USES.filter(([pattern]) => pattern.test(use));
  assert.deepEqual([meant.length, used.length], [1, 1], question);
  const [[helperWords, find] = HELPERS[0] ?? [/$/u, () => 0], [useWords, make] = USES[0] ?? [/$/u, () => 0]] = [
    meant[0],
    used[0],
  ];
  return make(find(get, ...(helperWords.exec(helper) ?? []).slice(1)), get, ...(useWords.exec(use) ?? []).slice(1));
}

/** The arguments and the result of an assert: literals of Python that JSON has too, but for its quotes. */
function readAssert(line: string, called: string): { inputs: Value[]; output: Value } {
  const match = /^assert (\w+)\((.*)\) == (.*)$/u.exec(line);
  assert.equal(match?.[1], called);
  const [, , inputs = '', output = ''] = match;
  return JSON.parse(`{"inputs": [${inputs.replaceAll("'", '"')}], "output": ${output.replaceAll("'", '"')}}`) as {
    inputs: Value[];
    output: Value;
  };
}

test('every test asks for what the words of its question mean', () => {
  for (const { question, tests } of SAMPLE) {
    const { called } = read(question);
    for (const line of tests.tests) {
      const { inputs, output } = readAssert(line, called);
      assert.deepEqual(asked(question, inputs), output, `${question}\n${line}`);
    }
  }
});

test('four or five tests begin with an ordinary input and reach edge cases', () => {
  const edge = (inputs: readonly Value[]): boolean =>
    inputs.some((value) => (typeof value === 'number' ? value <= 0 || value > 25 : value.length < 4));
  for (const { question, tests } of SAMPLE) {
    const inputs = tests.tests.map((line) => readAssert(line, read(question).called).inputs);
    assert.ok(inputs.length >= 4 && inputs.length <= 5);
    assert.equal(new Set(tests.tests).size, tests.tests.length, question);
    assert.ok(!edge(inputs[0] ?? []), question);
  }
  const edges = SAMPLE.map(
    ({ question, tests }) => tests.tests.filter((line) => edge(readAssert(line, read(question).called).inputs)).length,
  );
  assert.ok(
    edges.filter((found) => found >= 2).length / SAMPLE.length > 0.75,
    `${edges.filter((found) => found >= 2).length}`,
  );
});

test('a demonstration is a plan of one line and a function that begins with it; the hasty one differs in one of its two lines', () => {
  for (const { question, plan, solution, answer, hasty, level } of SAMPLE) {
    const signature = `${read(question).called}(${read(question).names.join(', ')})`;
    assert.match(plan, /^h = [^\n]+$/u);
    assert.equal(answer, solution);
    for (const [shownPlan, code] of [
      [plan, solution],
      [hasty.plan, hasty.solution],
    ] as const) {
      const [head, first, last, ...more] = code.split('\n');
      assert.deepEqual([head, first, more.length], [`def ${signature}:`, `    ${shownPlan}`, 0]);
      assert.match(last ?? '', /^ {4}return [^\n]*$/u);
    }
    const changed = solution.split('\n').filter((line, index) => line !== hasty.solution.split('\n')[index]);
    assert.equal(changed.length, 1, hasty.solution);
    // Small enough for the bundled team's limits.
    assert.ok(plan.length <= 60 && solution.length <= 120 && question.length <= 200, `${level} ${solution}`);
  }
});

test('each level draws its own arguments, and both halves of the task are there', () => {
  const forms = [/^\w+, \w+$/u, /^\w+, \w+, \w+$/u, /^\w+$/u, /^\w+$/u, /^\w+$/u, /^\w+, \w+$/u];
  for (const { level, question } of SAMPLE) {
    assert.match(read(question).names.join(', '), forms[(level ?? 0) - 1] ?? /^$/u);
  }
  for (let level = 1; level <= 6; level++) {
    const weights = ALL_LEVELS.map((_, index) => (index === level - 1 ? 1 : 0));
    assert.ok(sample('one', 40, weights).every((problem) => problem.level === level));
    const share = SAMPLE.filter((problem) => problem.level === level).length / SAMPLE.length;
    assert.ok(Math.abs(share - 1 / 6) < 0.03, `${level}: ${share}`);
  }
  assert.deepEqual(new Set(sample('mix', 200, [1, 0, 1]).map((problem) => problem.level)), new Set([1, 3]));
});

test('the same seed gives the same problems, each once; another seed others', () => {
  assert.deepEqual(sample('sample', 50), SAMPLE.slice(0, 50));
  assert.equal(new Set(SAMPLE.map((problem) => problem.uidSha)).size, SAMPLE.length);
  assert.equal(new Set(SAMPLE.map((problem) => problem.uid)).size, SAMPLE.length);
  for (const { uidSha: sha, question } of SAMPLE) {
    assert.equal(sha, uidSha(question));
  }
  const others = new Set(sample('other', 200).map((problem) => problem.uidSha));
  assert.ok(SAMPLE.filter((problem) => others.has(problem.uidSha)).length < 3);
  // Published problems stay what they are.
  const published = sample('published', 100);
  assert.equal(
    splitFingerprint(published.map((problem) => uidSha(problem.question + problem.solution))),
    '0ac81bcd25f630b330f88d3ce08b2dc89b5e1d2255045f752516cc8b0a4a05a7',
  );
  assert.equal(
    splitFingerprint(
      published.map((problem) => uidSha(problem.question + problem.solution + problem.tests.tests.join('\n'))),
    ),
    '3b2c7d46cf9b68de5400fd2296f5ac921a889a5e9eae9a055a9c46f19b0bef96',
  );
});

test('a split keeps the sides apart, whatever the seeds', () => {
  const splits = ['a', 'b'].map((seed) => generateSplit({ task: 'python', seed, train: 300, evaluation: 60 }));
  for (const { train, evaluation } of splits) {
    assert.deepEqual([train.length, evaluation.length], [300, 60]);
    assert.ok(
      train.every(
        (problem) => sideOf(problem.uidSha) === 'train' && (problem.level ?? 9) <= 4 && problem.tests !== undefined,
      ),
    );
  }
  const { sameQuestion, sameWords } = overlapReport(
    splits.flatMap((split) => split.train),
    splits.flatMap((split) => split.evaluation),
  );
  assert.deepEqual([sameQuestion.count, sameWords.count], [0, 0]);
});

test('levels that are no mix are refused', () => {
  for (const levels of [[], [0], [1, -1], [Number.NaN], [1, 1, 1, 1, 1, 1, 1]]) {
    assert.throws(() => distinctPythonProblems('a', levels), isInputError(/Python levels .* not valid/u));
  }
  assert.equal(sample('zeros', 1, [1, 0, 0, 0, 0, 0, 0, 0]).length, 1);
});
