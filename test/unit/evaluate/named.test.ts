import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { EvaluatorLost, type Evaluator } from '../../../src/evaluate/evaluator.ts';
import { EVALUATOR_KINDS, getEvaluatorKind, type EvaluatorName } from '../../../src/evaluate/kinds.ts';
import { makeEvaluator } from '../../../src/evaluate/named.ts';
import { maskVerdict, scoreVerdict, type PassRule } from '../../../src/evaluate/python/rules.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';

const TESTS = { tests: ['assert f(1) == 2'], test: '', entryPoint: null, setup: '', prefix: 'import math\n' };
const problem = (answer: string, tests?: Problem['tests']): Problem => ({
  uid: 'item',
  uidSha: 'ab',
  question: 'q',
  answer,
  source: 'test',
  level: null,
  ...(tests === undefined ? {} : { tests }),
});

/** Says what it was asked. */
const asked: { rule: PassRule; code: string; uidSha: string | null }[] = [];
const named = (name: EvaluatorName, stated = false): Evaluator =>
  makeEvaluator(name, stated ? 'stated' : 'mathematics', (rule) => ({
    functions: () => Promise.resolve(maskVerdict('no-tests', 'Nothing is examined here.')),
    grade: (code, _, uidSha) => {
      asked.push({ rule, code, uidSha: uidSha ?? null });
      return Promise.resolve(
        code.includes('broken') ? maskVerdict('sandbox', 'It did not start.') : scoreVerdict(0.5, 'partly', '', 1, 2),
      );
    },
  }));

test('each name scores by its rule, and auto by what the problem has', async () => {
  // 10+4 has the value; only a stated number is an answer of the arithmetic task.
  const names = ['auto', 'answer', 'math', 'math-lenient', 'python', 'python-fraction'] as const;
  const sums = await Promise.all(
    names.map(async (name) => [name, (await named(name).evaluate(problem('14'), '#### 10+4')).score] as const),
  );
  assert.deepEqual(Object.fromEntries(sums), {
    auto: 1,
    answer: 0,
    math: 1,
    'math-lenient': 1,
    python: 1,
    'python-fraction': 1,
  });
  assert.equal((await named('auto', true).evaluate(problem('14'), '#### 10+4')).score, 0);
  assert.equal((await named('math').evaluate(problem('3'), '#### 3.1')).score, 0);
  assert.equal((await named('math-lenient').evaluate(problem('3'), '#### 3.1')).score, 1);
});

test('code goes to the tests with what is before it, without its fences', async () => {
  asked.length = 0;
  assert.deepEqual(
    await named('auto', true).evaluate(problem('', TESTS), 'Here:\n```python\ndef f(x): return x\n```'),
    { score: 0.5, rule: 'partly' },
  );
  await named('python-fraction').evaluate(problem('', TESTS), 'x = 1');
  assert.deepEqual(asked, [
    { rule: 'strict', code: 'import math\ndef f(x): return x\n', uidSha: 'ab' },
    { rule: 'fraction', code: 'import math\nx = 1', uidSha: 'ab' },
  ]);
  await assert.rejects(
    named('python').evaluate(problem('', TESTS), 'broken'),
    (error) => error instanceof EvaluatorLost && error.message === 'It did not start.',
  );
});

test('problems without tests are refused where tests are to score them', () => {
  assert.equal(getEvaluatorKind('auto').fault([problem('1')]), null);
  assert.equal(getEvaluatorKind('python').fault([problem('', TESTS)]), null);
  assert.match(
    getEvaluatorKind('python').fault([problem('', TESTS), problem('1')]) ?? '',
    /problem "item" has none; give it tests, or choose evaluator: auto/,
  );
});

test('each kind is described once, is what a configuration may name, and names what it makes', () => {
  const names = EVALUATOR_KINDS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, words } of EVALUATOR_KINDS) {
    assert.match(words, /^[A-Z].*\.$/u);
    // A command needs to be named, and a judge.
    const more =
      { command: ['scorer={command: [score]}'], judge: ['scorer={rubric: a, labels: a.jsonl, judge: {vscode: {}}}'] }[
        name as string
      ] ?? [];
    assert.equal(readConfig('', 'test', [`evaluator=${name}`, ...more]).evaluator, name);
    assert.equal(named(name).name, name);
  }
  assert.throws(
    () => readConfig('', 'test', ['evaluator=maths']),
    /did you mean math\? It must be one of auto, answer, exact, pattern, tolerance, json-schema, command, judge, points, chain, zebra, zebra-cells, numbers, blocksworld, math, math-lenient, python, python-fraction/u,
  );
  for (const name of ['auto', 'python', 'python-fraction'] as const) {
    assert.equal(getEvaluatorKind(name).runsCode, true, name);
  }
  for (const name of ['answer', 'math', 'math-lenient'] as const) {
    assert.equal(getEvaluatorKind(name).runsCode, false, name);
  }
});
