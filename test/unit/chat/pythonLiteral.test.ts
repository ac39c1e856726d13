import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePythonLiteral } from '../../../src/chat/pythonLiteral.ts';

describe('a literal of Python', () => {
  it('is read as repr writes it', () => {
    const text = String.raw`{'a': "it's", 'b': 'say "hi"\n\'so\' \x41\u00e9\U0001f600', 3: None, 'c': [True, False, -1.5e3, ()]}`;
    assert.deepEqual(parsePythonLiteral(text), {
      3: null,
      a: "it's",
      b: 'say "hi"\n\'so\' A\u00e9\u{1f600}',
      c: [true, false, -1500, []],
    });
  });

  it('is read as NumPy and pprint write it: without commas, in arrays, in pieces', () => {
    assert.deepEqual(parsePythonLiteral("[{'a': 1}\n {'a': array([{'b': 2}], dtype=object)}]"), [
      { a: 1 },
      { a: [{ b: 2 }] },
    ]);
    assert.deepEqual(parsePythonLiteral("{'a': ('long '\n       'text'),\n 'b': (1,)}"), { a: 'long text', b: [1] });
  });

  it('keeps keys that JavaScript knows as keys', () => {
    const value = parsePythonLiteral("{'__proto__': {'polluted': 1}}");
    assert.deepEqual(Object.keys(value as object), ['__proto__']);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  it('is nothing else that Python could write, and no deeper than 256 levels', () => {
    for (const text of ["{'a': f(1)}", '[1, 2', "{'a' 1}", "{'a': 1 'b': 2}", "['a", '[x]', "'a'", '[1] 2', "['\\"]) {
      assert.equal(parsePythonLiteral(text), undefined, text);
    }
    assert.equal(parsePythonLiteral('['.repeat(100_000)), undefined);
  });
});
