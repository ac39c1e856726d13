/**
 * Hostile programs drawn from a seed, on both backends: objects that lie in every way that Python asks them, and
 * exceptions that builtins take for an end. None computes what is asked, so that none may pass.
 */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { HashedStream } from '../../../../../src/tasks/hashedStream.ts';
import { BACKENDS, grader, tests } from '../../../../unit/evaluate/python/support.ts';

const PROGRAMS = 300;
const SEED = 'hostile programs 2026';

const BASES = ['', '(int)', '(float)', '(str)', '(list)', '(dict)', '(set)', '(tuple)', '(frozenset)', '(Exception)'];
const LIES = [
  ...['eq', 'le', 'lt', 'ge', 'gt', 'contains', 'instancecheck'].map((name) => `def __${name}__(s, o): return True`),
  ...['add', 'radd', 'sub', 'rsub', 'mul', 'and', 'or', 'xor', 'mod', 'truediv', 'floordiv'].flatMap((name) => [
    `def __${name}__(s, o):\n    s.told = o\n    return s`,
    `def __${name}__(s, o): return 0`,
    `def __${name}__(s, o): return E()`,
  ]),
  'def __ne__(s, o): return False',
  'def __bool__(s): return False',
  'def __hash__(s): return 4',
  'def __abs__(s): return 0',
  'def __neg__(s): return s',
  'def __round__(s, d=0): return s',
  'def __index__(s): return 0',
  'def __float__(s): return 0.0',
  'def __len__(s): return len(s.told)',
  'def __iter__(s): return iter(s.told)',
  'def __iter__(s): return iter(())',
  'def __next__(s): raise StopIteration',
  'def __getitem__(s, i): raise IndexError',
  'def __getitem__(s, i): return s',
  'def __call__(s, *a): return s',
  'def __getattr__(s, name): return lambda *a: True',
  'def __str__(s): return str(s.told)',
  'def __format__(s, spec): return str(s.told)',
  ...['startswith', 'endswith', 'issuperset', 'issubset', 'isdisjoint'].map((name) => `def ${name}(s, o): return True`),
  '__class__ = property(lambda s: int)',
];
const RESULTS = [
  'E()',
  'E()',
  'E()',
  '[E()]',
  '(E(), E())',
  '{E(): E()}',
  'iter([])',
  '(E() for _ in [0])',
  'E',
  'lambda *a: E()',
];
const RAISED = [
  'StopIteration',
  'IndexError',
  'KeyError',
  'AttributeError',
  'TypeError',
  'StopAsyncIteration',
  'LookupError',
];

/** Tests of a function that gives a number, a text or a set; none can be passed by what does not compute it. */
const TESTS: Readonly<Record<'number' | 'text' | 'set', readonly string[]>> = {
  number: [
    'assert f(X) == V',
    'assert V == f(X)',
    'assert not f(X) != V',
    'assert abs(f(X) - V) < 1e-9',
    'assert abs(V - f(X)) < 1e-9',
    'assert f(X) in (V, V + 1)',
    'assert f(X) in {V: 1}',
    'assert [f(X)] == [V] and {"k": (f(X),)} == {"k": (V,)}',
    'assert {f(X)} == {V}',
    'import math\nassert math.isclose(f(X), V)',
    'assert not (f(X) - V)',
    'assert not sum([f(X), -V])',
    'assert f(X) <= V and f(X) >= V',
    'assert V <= f(X) <= V',
    'assert str(f(X)) == str(V)',
    'assert "%d" % f(X) == str(V)',
    'assert f"{f(X)}" == str(V)',
    'assert int(f(X)) == V',
    'assert round(f(X), 3) == V',
    'assert V - f(X) == 0 and f(X) % V == 0',
    'assert str(f(X) - V) == "0"',
    'assert all(map(lambda x: f(x) == A * x + B, [2, 3, 4]))',
    'assert not any(map(lambda x: f(x) != A * x + B, [2, 3, 4]))',
    'assert list(map(f, [2, 3])) == [2 * A + B, 3 * A + B]',
    'assert not list(filter(lambda x: f(x) != A * x + B, [2, 3]))',
    'assert all(value == V for value in iter(lambda: f(X), 0))',
    'class S:\n    def __getitem__(self, i): return f(i) == A * i + B\nassert all(S())',
    'class S:\n    @property\n    def bad(self): return f(X) != V\nassert not getattr(S(), "bad", False)',
    'import unittest\nunittest.TestCase().assertEqual(f(X), V)',
    'import unittest\nunittest.TestCase().assertAlmostEqual(f(X), V)',
    'import unittest\nunittest.TestCase().assertIn(f(X), [V])',
    'try:\n    assert f(X) == V\nexcept TypeError:\n    assert False',
  ],
  text: [
    'assert f("ab") == "AB-T"',
    'assert f("ab").startswith("AB")',
    'assert f("ab").endswith("T")',
    'assert f("ab").upper() == "AB-T"',
    'assert f("ab") in ["AB-T"]',
    'assert "AB-T" in f("ab")',
    'assert f("ab") + "x" == "AB-Tx"',
    'assert str(f("ab") + "x") == "AB-Tx"',
    'assert list(f("ab")) == list("AB-T")',
    'assert "".join(f("ab")) == "AB-T"',
  ],
  set: [
    'assert f([2, 3]) == {4, 9}',
    'assert set(f([2, 3])) == {4, 9}',
    'assert f([2, 3]) >= {4, 9} and f([2, 3]) <= {4, 9}',
    'assert f([2, 3]).issuperset({4, 9})',
    'assert not f([2, 3]) ^ {4, 9}',
    'assert len(f([2, 3]) & {4, 9}) == 2',
    'assert sorted(f([2, 3]) & {4, 9}) == [4, 9]',
    'assert 4 in f([2, 3]) and 9 in f([2, 3])',
  ],
};

const several = (stream: HashedStream, from: readonly string[], count: number): string[] =>
  Array.from({ length: count }, () => stream.pick(from));

function drawn(index: number): { readonly code: string; readonly test: string } {
  const stream = new HashedStream(`${SEED} ${index}`);
  const [factor, offset, x] = [stream.integer(11, 99), stream.integer(101, 999), stream.integer(2, 9)];
  const kind = stream.weighted(['number', 'text', 'set'] as const, [4, 1, 1]);
  const test = stream
    .pick(TESTS[kind])
    .replaceAll(/\bX\b/gu, String(x))
    .replaceAll(/\bV\b/gu, String(factor * x + offset))
    .replaceAll(/\bA\b/gu, String(factor))
    .replaceAll(/\bB\b/gu, String(offset))
    .replaceAll(/-T\b/gu, `-${offset}`)
    .replaceAll(/"T"/gu, JSON.stringify(`-${offset}`));
  const lies = several(stream, LIES, stream.integer(2, 12)).map((lie) => `  ${lie.replaceAll('\n', '\n  ')}\n`);
  const isRaised = stream.integer(0, 3) === 0;
  const body = isRaised ? `raise ${stream.pick(RAISED)}` : `return ${stream.pick(RESULTS)}`;
  const name = stream.integer(0, 5) === 0 ? `class f(E): pass` : `def f(*a): ${body}`;
  return { code: `# ${index}\nclass E${stream.pick(BASES)}:\n  told = ()\n${lies.join('')}${name}\n`, test };
}

for (const backend of BACKENDS) {
  describe(`hostile programs (${backend})`, () => {
    const one = grader({ backend, lanes: 3, limits: { seconds: 2, calls: 2000 } });
    after(() => one.close());

    it(`score 0, all ${PROGRAMS}`, async () => {
      const programs = Array.from({ length: PROGRAMS }, (_, index) => drawn(index));
      const verdicts = await Promise.all(programs.map(({ code, test }) => one.grade(code, tests({ tests: [test] }))));
      const wrong = programs.flatMap((program, at) =>
        verdicts[at]?.score === 0 ? [] : [{ ...program, verdict: verdicts[at] }],
      );
      assert.deepEqual(wrong, []);
    });
  });
}
