import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SaidEvent } from '../../../src/domain/episode.ts';
import type { Examination } from '../../../src/domain/message.ts';
import type { Problem, ProblemTests } from '../../../src/domain/problem.ts';
import { findEnvironmentKind } from '../../../src/environment/kinds.ts';
import { makeLadderEvaluator } from '../../../src/evaluate/evaluator.ts';
import { getEvaluatorKind } from '../../../src/evaluate/kinds.ts';
import { scoreLadder } from '../../../src/evaluate/ladder.ts';
import {
  splitAssertions,
  findEntryPoint,
  findFunctionSource,
  pickFunctions,
  mentionsReturn,
  sliceTests,
} from '../../../src/evaluate/python/functionSource.ts';

const test = (code: string): ProblemTests => ({ tests: [], test: code, entryPoint: 'f', setup: '', prefix: '' });
const problem = (tests?: ProblemTests, question = 'q'): Problem => ({
  uid: 'one',
  uidSha: 'ab',
  question,
  answer: '',
  source: 'test',
  level: null,
  ...(tests !== undefined && { tests }),
});
const said = (role: string, text: string): SaidEvent => ({ kind: 'decision', position: 0, role, text });
/** Four tests, all passed, the helper called and used. */
const best: Examination = {
  entryPoint: 'f',
  helper: { source: 'def aux(n):\n    return n', returns: true },
  main: { source: 'def f(n):\n    s = aux(n)\n    return 2 * s', returns: true },
  syntax: null,
  usage: { called: true, used: true, wrapper: false },
  tests: Array.from({ length: 4 }, () => ({ source: '', passed: true, detail: '' })),
  testCount: 4,
};

describe('the ladder', () => {
  it('gives 4 points, and nothing further for what fails structure or syntax', () => {
    const total = (changed: Partial<Examination>): number => scoreLadder({ ...best, ...changed }, 'checked').total;
    assert.equal(total({}), 4);
    assert.equal(total({ main: { source: null, returns: false } }), 0.4);
    assert.equal(total({ syntax: { line: 1, column: 1, message: '' } }), 1);
    assert.equal(total({ helper: { source: null, returns: false } }), 2.1);
    assert.equal(total({ tests: best.tests.map((one) => ({ ...one, passed: false })) }), 1.5);
    assert.equal(total({ usage: { called: false, used: false, wrapper: false } }), 2.5);
    assert.equal(total({ usage: { called: true, used: false, wrapper: false } }), 3.5);
    assert.equal(total({ usage: { called: true, used: true, wrapper: true } }), 3);
  });

  it('says what a failing sandbox leaves unknown, as a score of nothing', async () => {
    const verdict = { score: null, rule: 'killed', detail: '', masked: 'Ended.', passed: 0, total: 0 } as const;
    const evaluator = makeLadderEvaluator({ functions: () => Promise.resolve(verdict) }, 'ladder', 'checked');
    const graded = await evaluator.evaluate(problem(test('def check(candidate):\n    assert candidate(1)\n')), 'x');
    assert.deepEqual(graded, { score: null, rule: 'killed', masked: 'Ended.' });
  });

  it('refuses problems without tests of a function in one sentence', () => {
    const { fault } = getEvaluatorKind('ladder');
    assert.equal(fault([problem(test('x'))]), null);
    assert.match(fault([problem()]) ?? '', /problem "one" has none; give it tests/u);
    assert.match(fault([problem({ ...test('x'), entryPoint: null })]) ?? '', /names no function/u);
  });
});

describe('the two functions of a program', () => {
  it('are the last definitions at the first column, without what is around them', () => {
    const code = 'import os\ndef aux(a):\n    return a\n\n# end\nx = 1\ndef aux(\n    a,\n):\n    return 2\nprint()\n';
    assert.equal(findFunctionSource(code, 'aux'), 'def aux(\n    a,\n):\n    return 2');
    assert.equal(findFunctionSource('    def aux(a):\n        return a', 'aux'), null);
    assert.equal(findFunctionSource('def auxiliary(a):\n    return a', 'aux'), null);
  });

  it('come from the role that was asked: a helper that defines the main function replaces nothing', () => {
    const helper = 'def aux(n):\n    return n\ndef f(n):\n    return 7\n';
    const found = pickFunctions(helper, 'def f(n):\n    return aux(n)\ndef aux(n):\n    return 9\n', 'f');
    assert.deepEqual(found, { helper: 'def aux(n):\n    return n', main: 'def f(n):\n    return aux(n)' });
    assert.equal(pickFunctions(helper, '', 'f').main, null);
  });

  it('are joined by the environment, which says what it found of each role', async () => {
    const join = findEnvironmentKind('join');
    const tests = { ...test('x'), prefix: 'from math import pi\n\ndef f(n):\n' };
    const outcome = await join?.run({
      problem: problem(tests),
      log: [],
      messages: [said('aux', 'no code'), said('main', '```python\nimport os\ndef f(n):\n    return pi\n```')],
      options: { take: 'functions' },
      uniform: () => 0,
    });
    assert.equal(outcome?.text, '```python\nfrom math import pi\n\n\ndef f(n):\n    return pi\n```');
    assert.deepEqual(outcome.json, {
      helper: 'aux',
      entryPoint: 'f',
      extracted: { aux: null, main: 'def f(n):\n    return pi' },
    });
  });

  it('are named by the tests, or by the prompt', () => {
    const list = { ...test(''), entryPoint: null, tests: ['assert set(mix([1])) == set()'] };
    assert.equal(findEntryPoint(problem(list)), 'mix');
    assert.equal(findEntryPoint(problem({ ...list, tests: ['assert sum([1]) == 1'] }, 'def g(x):')), 'g');
  });

  it('give back a value where a line says so, not where a comment does', () => {
    assert.deepEqual(
      ['return x', 'if n: return 1', 'return(n', 'return', '# return x', 'returned = 1'].map((line) =>
        mentionsReturn(`def f(n):\n    ${line}`),
      ),
      [true, true, true, false, false, false],
    );
  });
});

describe('the assertions of a check', () => {
  const CHECK = [
    'from math import pi',
    'def check(candidate):',
    '    """Of all."""',
    '    assert True, "always"',
    '    assert candidate(1) == [',
    '        1, ")",',
    '    ]',
    '    assert candidate(2) == 2  # (',
    '    assert candidate(2) == 2  # (',
    '    assert candidate(3) == "(3"',
    'check(f)',
  ].join('\n');

  it('are tests of their own, each once, and what is before them is set up', () => {
    const { tests, setup, test: program } = splitAssertions(test(CHECK), 'f');
    assert.deepEqual(tests, [
      'assert f(1) == [\n        1, ")",\n    ]',
      'assert f(2) == 2  # (',
      'assert f(3) == "(3"',
    ]);
    assert.deepEqual([setup, program], ['from math import pi', '']);
  });

  it('stay one test where the check holds anything else', () => {
    for (const line of [
      '    for i in range(3):\n        assert candidate(i)',
      '    n = 3',
      '    assert candidate((1',
    ]) {
      const asked = splitAssertions(test(`${CHECK.replace('check(f)', '')}${line}\n`), 'f');
      assert.deepEqual([asked.tests.length, asked.entryPoint], [0, 'f'], line);
    }
  });

  it('can be sliced from either end', () => {
    const asked = { tests: ['1', '2', '3'], test: '', entryPoint: null, setup: 'import math' };
    const slices: [number, string[]][] = [
      [1, ['1']],
      [2, ['1', '2']],
      [-1, ['3']],
      [-2, ['2', '3']],
      [99, ['1', '2', '3']],
      [0, ['1', '2', '3']],
    ];
    for (const [slice, left] of slices) {
      assert.deepEqual(sliceTests(asked, slice), { ...asked, tests: left });
    }
  });
});
