import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { PythonGrader } from '../../../../src/evaluate/python/grader.ts';
import type { PythonTests, PythonVerdict } from '../../../../src/evaluate/python/rules.ts';
import { BACKENDS, grader, tests } from './support.ts';
import { DISHONEST, HONEST } from './values.ts';

for (const backend of BACKENDS) {
  describe(backend, () => {
    let strict: PythonGrader;
    let fraction: PythonGrader;
    /** For what may go on for as long as it is called. */
    let quick: PythonGrader;
    before(() => {
      strict = grader({ backend, lanes: 1 });
      fraction = grader({ backend, lanes: 1, passRule: 'fraction' });
      quick = grader({ backend, lanes: 1, limits: { calls: 500 } });
    });
    after(() => {
      strict.close();
      fraction.close();
      quick.close();
    });

    const grade = (code: string, given: Partial<PythonTests>): Promise<PythonVerdict> =>
      strict.grade(code, tests(given));
    const asserting = async (
      code: string,
      ...statements: string[]
    ): Promise<readonly [number | null, string, string]> => {
      const { score, rule, detail, masked } = await grade(code, { tests: statements });
      return [score, rule, masked ?? detail];
    };

    describe('the forms of tests', () => {
      it('MBPP: statements that call the candidate by name, after a setup', async () => {
        const verdict = await grade('def area(r):\n    return math.pi * r * r', {
          setup: 'import math\nTOLERANCE = 1e-9',
          tests: ['assert abs(area(2) - 4 * math.pi) < TOLERANCE', 'assert set([area(0)]) == set([0])'],
        });
        assert.deepEqual(verdict, { score: 1, rule: 'passed', detail: '', masked: null, passed: 2, total: 2 });
      });

      it('MBPP: a candidate that bears the name of a builtin is tested under it, and can replace no other', async () => {
        assert.deepEqual(
          await asserting(
            'def sum(a, b):\n    return len([n for n in range(1, a + 1) if a % n == b % n == 0])',
            'assert sum(12, 18) == 4',
          ),
          [1, 'passed', ''],
        );
        const [score] = await asserting(
          'def f(x):\n    return [0]\ndef set(x):\n    return 1\ndef sorted(x):\n    return 1',
          'assert set(f(2)) == set([1, 2])',
        );
        assert.equal(score, 0);
      });

      it('HumanEval: check(candidate), which may call helpers of the prompt', async () => {
        const code = 'def shift(s):\n    return s[1:] + s[:1]\n\ndef unshift(s):\n    return s[-1:] + s[:-1]\n';
        const test =
          "\nMETADATA = {}\n\ndef check(candidate):\n    assert candidate('bca') == 'abc'\n    for word in ['', 'x', 'hello']:\n        assert candidate(shift(word)) == word\n";
        assert.equal((await grade(code, { test, entryPoint: 'unshift' })).rule, 'passed');
        assert.equal(
          (await grade(code.replace('s[-1:]', 's[:1]'), { test, entryPoint: 'unshift' })).rule,
          'wrong-answer',
        );
      });

      it('MBPP+: a program that compares within a tolerance by numpy, which is not installed', async () => {
        const test =
          'import numpy as np\n\ndef assertion(out, exp, atol):\n    if out != exp and atol != 0:\n        assert np.allclose(out, exp, rtol=1e-07, atol=atol)\n    else:\n        assert out == exp\n\nfor inp, exp in zip([[1, 2], [0.1, 0.2]], [[3], [0.3]]):\n    assertion(add(*inp), exp, 1e-6)\n';
        assert.equal((await grade('def add(a, b):\n    return [a + b]', { test })).rule, 'passed');
        assert.equal((await grade('def add(a, b):\n    return [a + b + 1e-5]', { test })).rule, 'wrong-answer');
      });

      it('score all or nothing, or their share, and name the first failure', async () => {
        const code = 'def f(x):\n    return 1';
        const given = tests({ tests: ['assert f(1) == 1', 'assert f(2) == 2', 'assert f(3) == 1'] });
        assert.deepEqual(
          [await strict.grade(code, given), await fraction.grade(code, given)],
          [
            { score: 0, rule: 'wrong-answer', detail: 'test 2: AssertionError: ', masked: null, passed: 1, total: 3 },
            { score: 2 / 3, rule: 'partly', detail: 'test 2: AssertionError: ', masked: null, passed: 2, total: 3 },
          ],
        );
        // A limit is final whatever passed before it.
        const exits = await fraction.grade('import os\ndef f(x):\n    if x > 1: os._exit(0)\n    return 1', given);
        assert.deepEqual([exits.score, exits.rule], [0, 'exit']);
      });
    });

    describe('values between candidate and tests', () => {
      it('are rebuilt as exact builtins of the same type', async () => {
        const value = String.raw`[None, True, 0, -5, 2**63, -2**200, 0.1, -0.0, float('inf'), 3+4j, '', 'é\ud800\udc00😀', b'\x00\xff', bytearray(b'a'), (1, (2,)), [], {3, 'x'}, frozenset([(1, 2)]), {'k': [1], (1, 2): {}}]`;
        const same = String.raw`
def same(a, b):
    if type(a) is not type(b) or repr(a) != repr(b) and not isinstance(a, (set, frozenset, dict)):
        return False
    return a == b and (not isinstance(a, (list, tuple)) or all(map(same, a, b)))
value = ${value}
echoed, own = f(value), g()
assert same(echoed, value), echoed
assert same(own, value), own
nan = f([float('nan')])
assert type(nan[0]) is float and nan[0] != nan[0]
assert f(2**63 - 1) == 2**63 - 1 and f(-10**5000) == -10**5000`;
        assert.deepEqual(await asserting(`def f(x):\n    return x\ndef g():\n    return ${value}`, same), [
          1,
          'passed',
          '',
        ]);
      });

      it('cross where they are exact, stay with the candidate where they are its own, and cannot judge themselves', async () => {
        const scores = async (programs: typeof HONEST): Promise<readonly (readonly [string, number | null])[]> =>
          Promise.all(
            Object.entries(programs).map(async ([name, { code, ...given }]) => [
              name,
              (await quick.grade(code, tests(given))).score,
            ]),
          );
        assert.deepEqual(
          [...(await scores(HONEST)), ...(await scores(DISHONEST))],
          [...Object.keys(HONEST).map((name) => [name, 1]), ...Object.keys(DISHONEST).map((name) => [name, 0])],
        );
      });

      it('exceptions arrive as the builtin type or the nearest builtin ancestor, with their message', async () => {
        const code =
          'class Own(KeyError):\n    pass\ndef f(kind):\n    if kind == "own": raise Own("k")\n    if kind == "decode": b"\\xff".decode()\n    raise ValueError("bad input")';
        const statement =
          "import unittest\nt = unittest.TestCase()\nwith t.assertRaisesRegex(ValueError, '^bad input$'): f('')\nwith t.assertRaises(KeyError): f('own')\nwith t.assertRaises(UnicodeDecodeError): f('decode')";
        assert.deepEqual(await asserting(code, statement), [1, 'passed', '']);
        assert.deepEqual(await asserting(code, "assert f('') == 1"), [
          0,
          'candidate-exception',
          'test 1: ValueError: bad input',
        ]);
      });
    });

    describe('a verdict', () => {
      it('is the same in every process: chance, hashes and the clock are fixed, sleeping takes no time', async () => {
        const code =
          'import random, time, uuid\ndef f():\n    began = time.time()\n    time.sleep(5000)\n    return [random.random(), hash("abc"), uuid.uuid4().hex, began, time.time() - began, list({"a", "b", "c"})]';
        const statement = 'assert False, f()';
        const [first, second] = await Promise.all(
          [strict, fraction].map((one) => one.grade(code, tests({ tests: [statement] }))),
        );
        assert.equal(first?.detail, second?.detail);
        assert.match(first?.detail ?? '', /17672256\d\d\.\d+, 5000\.0/);
      });

      it('is masked, never 0, where the tests cannot judge', async () => {
        const code = 'def f(x):\n    return x';
        const broken: Partial<PythonTests>[] = [
          {},
          { tests: ['assert f(1) = 1'] },
          { tests: ['import pandas\nassert f(1) == 1'] },
          { setup: 'import nowhere', tests: ['assert f(1) == 1'] },
          { setup: '1 / 0', tests: ['assert f(1) == 1'] },
          { tests: ['assert f(lambda: 1)'] },
        ];
        for (const given of broken) {
          const { score, rule, masked } = await grade(code, given);
          assert.deepEqual(
            [score, rule, typeof masked],
            [null, Object.keys(given).length === 0 ? 'no-tests' : 'tests-broken', 'string'],
            JSON.stringify(given),
          );
        }
      });

      it('does not depend on what a candidate says of imports: its ImportError is its own', async () => {
        assert.deepEqual(await asserting('def f():\n    raise ImportError("no")', 'f()'), [
          0,
          'candidate-exception',
          'test 1: ImportError: no',
        ]);
        assert.equal((await asserting('import numpy\ndef f():\n    return 1', 'assert f() == 1'))[1], 'load-error');
      });

      it('leaves room for honest recursion', async () => {
        assert.deepEqual(
          await asserting(
            'import functools\ndef f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\n@functools.cache\ndef g(n):\n    return 0 if n == 0 else 1 + g(n - 1)',
            'assert f(900) == 900',
            'assert g(400) == 400',
          ),
          [1, 'passed', ''],
        );
      });
    });
  });
}
