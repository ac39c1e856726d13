import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { PythonGrader } from '../../../src/evaluate/python/grader.ts';
import type { TaskFormat } from '../../../src/tasks/files/formats.ts';
import { loadProblems, type LoadedProblems, type LoadOptions } from '../../../src/tasks/files/load.ts';
import { uidSha } from '../../../src/tasks/uid.ts';
import { sandboxPlaces } from '../../support/programs.ts';
import { isInputError } from './expect.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-formats-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function load(rows: readonly object[], options?: LoadOptions): Promise<LoadedProblems> {
  const path = join(folder, 'data.jsonl');
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return loadProblems(path, options);
}

async function one(row: object, options?: LoadOptions): Promise<Problem> {
  const [problem] = (await load([row], options)).problems;
  assert.ok(problem);
  return problem;
}

/** Rows as the data sets publish them, in the form that each is to be recognised as. */
const GSM8K = {
  question: 'A robe takes 2 bolts and half that much. How many?',
  answer: 'It takes 2/2=<<2/2=1>>1 bolt\nSo 2+1=<<2+1=3>>3\n#### 3',
};
const MATH = {
  problem: 'What is $1+1$?',
  level: 'Level 5',
  type: 'Algebra',
  solution: 'Not $\\boxed{3}$ but $\\boxed{\\frac{1}{2}}$.',
};
const MATH500 = {
  problem: 'Convert $(0,3)$.',
  solution: '$\\boxed{x}$',
  answer: '\\left( 3, \\frac{\\pi}{2} \\right)',
  subject: 'Precalculus',
  level: 2,
  unique_id: 'test/precalculus/807.json',
};
const CMATH = { question: '小明有 3 个苹果', golden: '12', reasoning_step: 1, num_digits: 1, grade: 3 };
const MBPP = {
  task_id: 601,
  text: 'Write a function to add two numbers.',
  code: 'def add(a, b):\n    return a + b',
  test_list: ['assert add(1, 2) == 3', 'assert add(-1, 1) == 0'],
  test_setup_code: 'import math',
  challenge_test_list: [],
};
const SANITIZED = {
  source_file: 'x.ipynb',
  task_id: 2,
  prompt: 'Write a function to find shared items.',
  code: 'def f(a, b): return set(a) & set(b)',
  test_imports: ['import math', 'import re'],
  test_list: ['assert set(f((1, 2), (2, 3))) == {2}'],
};
const PLUS_PROGRAM = `import numpy as np
from math import inf

def is_floats(x) -> bool:
    if isinstance(x, float):
        return True
    if isinstance(x, (list, tuple)):
        return all(isinstance(i, float) for i in x)
    if isinstance(x, np.ndarray):
        return x.dtype == np.float64 or x.dtype == np.float32
    return False

def assertion(out, exp, atol):
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp, f"out: {out}, exp: {exp}"

inputs = [[1, 2], [0.1, 0.2]]
results = [3, 0.3]
for i, (inp, exp) in enumerate(zip(inputs, results)):
    assertion(add(*inp), exp, 0)
`;
const PLUS = {
  ...MBPP,
  test_setup_code: undefined,
  test_imports: [],
  prompt: MBPP.text,
  text: undefined,
  test: PLUS_PROGRAM,
};
const HUMANEVAL = {
  task_id: 'HumanEval/38',
  prompt:
    'import math\n\ndef helper(x):\n    return x + 1\n\ndef next_but_one(x: int) -> int:\n    """ Two more.\n    >>> next_but_one(1)\n    3\n    """\n',
  entry_point: 'next_but_one',
  canonical_solution: '    return helper(helper(x))\n',
  test: "METADATA = {'author': 'x'}\n\ndef check(candidate):\n    assert candidate(1) == 3\n    assert candidate(-2) == 0\n",
};

test('each form is recognised by its columns and read the same when it is named', async () => {
  const rows: [TaskFormat, object][] = [
    ['gsm8k', GSM8K],
    ['math', MATH],
    ['math500', MATH500],
    ['cmath', CMATH],
    ['mbpp', MBPP],
    ['mbpp', SANITIZED],
    ['mbppplus', PLUS],
    ['humaneval', HUMANEVAL],
    ['jsonl', { question: 'q', answer: '1' }],
    ['jsonl', { input: 'q', label: 1 }],
  ];
  for (const [format, row] of rows) {
    const found = await load([row]);
    assert.deepEqual([...found.formats], [[format, 1]], JSON.stringify(row));
    assert.deepEqual((await load([row], { format })).problems, found.problems);
    assert.equal(found.problems[0]?.uidSha, uidSha(found.problems[0]?.question ?? ''));
  }
});

test('answers are found where each data set keeps them', async () => {
  const shown = ({ uid, question, answer, level }: Problem): unknown[] => [uid, question, answer, level];
  assert.deepEqual(shown(await one(GSM8K)), ['data.jsonl:1', GSM8K.question, '3', null]);
  assert.deepEqual(shown(await one(MATH)), ['data.jsonl:1', MATH.problem, '\\frac{1}{2}', 5]);
  assert.deepEqual(shown(await one(MATH500)), ['test/precalculus/807.json', MATH500.problem, MATH500.answer, 2]);
  assert.deepEqual(shown(await one(CMATH)), ['data.jsonl:1', CMATH.question, '12', null]);
  assert.equal((await one({ ...CMATH, golden: 2.5 })).answer, '2.5');
  assert.equal((await one({ ...MATH, level: 'Level ?' })).level, null);
});

test('the last box counts, with nested and escaped braces, or without braces to the end of the formula', async () => {
  const boxes = [
    ['so $\\boxed{7}$', '7'],
    ['\\boxed{a_{1}^{2}}', 'a_{1}^{2}'],
    ['\\boxed{\\{1,2\\}}', '\\{1,2\\}'],
    ['\\boxed{\\left\\{ x \\right.}', '\\left\\{ x \\right.'],
    ['$\\boxed 5$ is it', '5'],
    ['\\fbox{9} and \\boxed{ 10 }', '10'],
    ['\\boxed{1} then \\fbox{2}', '2'],
  ];
  for (const [solution, answer] of boxes) {
    assert.equal((await one({ problem: 'p', solution })).answer, answer, solution);
  }
  for (const solution of [
    'no box',
    '\\boxed{1',
    '\\boxed{}',
    '\\boxed{ }',
    '\\boxed',
    `\\boxed${'{'.repeat(100_000)}`,
  ]) {
    await assert.rejects(
      load([{ problem: 'p', solution }]),
      isInputError(/data\.jsonl:1: "solution" holds no answer; .*\\boxed/u),
      solution.slice(0, 20),
    );
  }
});

test('MBPP keeps its tests apart and shows as many as asked for; both of its data sets name a problem alike', async () => {
  const mbpp = await one(MBPP);
  assert.deepEqual(mbpp.tests, { tests: MBPP.test_list, test: '', entryPoint: null, setup: 'import math', prefix: '' });
  assert.deepEqual([mbpp.uid, mbpp.answer], ['mbpp-601', MBPP.code]);
  assert.equal(mbpp.question, `${MBPP.text}\nYour code should pass this test:\nassert add(1, 2) == 3`);
  assert.equal((await one(MBPP, { showTests: 'none' })).question, MBPP.text);
  assert.equal(
    (await one(MBPP, { showTests: 'all' })).question,
    `${MBPP.text}\nYour code should pass these tests:\nassert add(1, 2) == 3\nassert add(-1, 1) == 0`,
  );
  assert.deepEqual((await one(SANITIZED)).tests, {
    tests: SANITIZED.test_list,
    test: '',
    entryPoint: null,
    setup: 'import math\nimport re',
    prefix: '',
  });
  const plus = await one({ ...PLUS, task_id: 'Mbpp/601' });
  assert.deepEqual(plus.tests, { tests: [], test: PLUS_PROGRAM, entryPoint: null, setup: '', prefix: '' });
  assert.deepEqual([plus.uid, plus.uidSha], [mbpp.uid, mbpp.uidSha]);
  assert.equal((await one({ ...MBPP, task_id: '601' })).uid, 'mbpp-601');
});

test('a plain row may bring tests of its own', async () => {
  const listed = await one({ question: 'Write f.', tests: ['assert f(1) == 1'], setup: 'import re' });
  assert.deepEqual(
    [listed.answer, listed.tests],
    ['', { tests: ['assert f(1) == 1'], test: '', entryPoint: null, setup: 'import re', prefix: '' }],
  );
  const program = await one({
    question: 'Write f.',
    answer: 'def f(): pass',
    test: 'def check(c): pass',
    entryPoint: 'f',
  });
  assert.deepEqual(
    [program.answer, program.tests],
    ['def f(): pass', { tests: [], test: 'def check(c): pass', entryPoint: 'f', setup: '', prefix: '' }],
  );
});

test('rows of several forms may be in one file', async () => {
  const { problems, formats } = await load([
    MATH,
    CMATH,
    { ...MATH, problem: 'p' },
    { question: 'q', answer: 'It is 4.' },
  ]);
  assert.deepEqual(
    [...formats],
    [
      ['math', 2],
      ['cmath', 1],
      ['jsonl', 1],
    ],
  );
  assert.deepEqual(
    problems.map((problem) => problem.answer),
    ['\\frac{1}{2}', '12', '\\frac{1}{2}', 'It is 4.'],
  );
});

test('a form that is named is demanded of every row, and whatever is missing is named', async () => {
  const refused = async (rows: readonly object[], message: RegExp, options?: LoadOptions): Promise<void> =>
    await assert.rejects(load(rows, options), isInputError(message));
  await refused(
    [GSM8K, { question: 'q', answer: 'It is 4.' }],
    /data\.jsonl:2: "answer" holds no answer; this form of data has an answer after ####.*task\.format/u,
    { format: 'gsm8k' },
  );
  await refused([MATH, GSM8K], /data\.jsonl:2: "solution" is missing/u, { format: 'math' });
  await refused([GSM8K], /:1: "problem" is missing|:1: "solution" is missing/u, { format: 'math' });
  await refused([{ ...MBPP, text: '' }], /:1: "text" is empty/u);
  await refused([{ ...MBPP, test_list: [] }], /:1: the row has no tests/u);
  await refused([{ ...MBPP, test_list: ['  '] }], /:1: the row has no tests/u);
  await refused([{ ...MBPP, test_list: 'assert f()' }], /:1: "test_list" is not a list of strings/u);
  await refused([{ ...MBPP, test_list: [1] }], /:1: "test_list" is not a list of strings/u);
  await refused(
    [{ ...MBPP, test_list: Array.from({ length: 10_001 }, () => 'assert 1') }],
    /:1: "test_list" holds more than 10000 texts/u,
  );
  await refused([{ ...PLUS, test: '' }], /:1: "test" is empty/u);
  await refused([{ ...HUMANEVAL, prompt: '' }], /:1: "prompt" is empty/u);
  await refused([{ ...HUMANEVAL, entry_point: 'f(); import os' }], /:1: "entry_point" is not a function name/u);
  await refused([{ ...HUMANEVAL, entry_point: null }], /:1: the row has no entry_point/u, { format: 'humaneval' });
  await refused([{ question: 'q', tests: [] }], /:1: the row has no tests/u);
});

test('a repeated question with another answer is reported', async () => {
  const rows = [
    { question: 'a', answer: '1', id: 'A' },
    { question: 'a', answer: '1' },
    { question: 'b', answer: '2', id: 'B' },
    { question: 'b ', answer: '3' },
    { question: 'b', answer: '4' },
  ];
  const { duplicates, contradicted } = await load(rows);
  assert.deepEqual([duplicates, contradicted], [3, ['B']]);
});

test('what scores the code of each data set passes its reference in the sandbox and fails another', async (t) => {
  const grader = new PythonGrader({ places: sandboxPlaces() });
  t.after(() => grader.close());
  const wrong =
    'def add(a, b):\n    return a - b\n\ndef f(a, b):\n    return {9}\n\ndef next_but_one(x):\n    return x\n';
  for (const row of [MBPP, SANITIZED, PLUS, HUMANEVAL]) {
    const { tests, answer } = await one(row);
    assert.ok(tests);
    assert.equal((await grader.grade(tests.prefix + answer, tests)).rule, 'passed', tests.test);
    assert.equal((await grader.grade(tests.prefix + wrong, tests)).rule, 'wrong-answer');
  }
  const { tests } = await one(HUMANEVAL);
  assert.ok(tests);
  // A whole function instead of a completion, which uses the prompt's helper; and no code at all.
  assert.equal((await grader.grade(`${tests.prefix}def next_but_one(x):\n    return helper(x) + 1`, tests)).score, 1);
  assert.equal((await grader.grade(tests.prefix, tests)).score, 0);
});
