import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { C3Error } from '../../../src/shared/errors.ts';
import { parseOverride, applyOverrides } from '../../../src/training/config/overrides.ts';
import { readPythonLiteral } from '../../../src/training/config/pythonLiteral.ts';

const valueOf = (text: string): unknown => parseOverride(`key=${text}`).value;

describe('pythonLiteral', () => {
  it('reads what literal_eval reads', () => {
    for (const [text, value] of [
      ['True', true],
      ['False', false],
      ['None', null],
      ['-0.2', -0.2],
      ['2e-5', 2e-5],
      ['1_000', 1000],
      ['0x1F', 31],
      ['.5', 0.5],
      ['5.', 5],
      ['00', 0],
      ["'x/y'", 'x/y'],
      ['"it\'s"', "it's"],
      ["'it\\'s'", "it's"],
      ["'a\\nb\\x41\\u00e9\\q'", 'a\nbAé\\q'],
      ['[1.5,0.5]', [1.5, 0.5]],
      ['[1, 2, ]', [1, 2]],
      ['(1, 2)', [1, 2]],
      ['(1,)', [1]],
      ['(1)', 1],
      ['()', []],
      ['[]', []],
      ['1, 2', [1, 2]],
      ['1,', [1]],
      ['[(True, None), []]', [[true, null], []]],
      ["{'a': {'b': True}, 2: 'c'}", { a: { b: true }, 2: 'c' }],
      ['{}', {}],
      [' [ 1 ] ', [1]],
    ] as const) {
      assert.deepEqual(readPythonLiteral(text), { value }, text);
    }
  });

  it('takes nothing else for one', () => {
    const others = ['', 'true', 'null', 'test[16:]', '012', '1 2', '[1', '[1}', '(1 2)', "'a", '{1, 2}', '{a: 1}'];
    for (const text of [...others, 'None1', '1.2.3', '__import__("os")', '[,]', '1j', '{[1]: 2}', '-', '"a" b']) {
      assert.equal(readPythonLiteral(text), null, text);
    }
    assert.equal(readPythonLiteral('['.repeat(5000)), null);
  });
});

describe('parseOverride', () => {
  it('reads YAML as before, and Python literals beside it', () => {
    assert.deepEqual(parseOverride('a.b=c=d').path, ['a', 'b']);
    assert.equal(parseOverride('a.b=c=d').value, 'c=d');
    for (const [text, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
      ['', null],
      ['True', true],
      ['None', null],
      ['[True, None]', [true, null]],
      ['(1, 2)', [1, 2]],
      ['{a: 1}', { a: 1 }],
      ["{'a': None}", { a: null }],
      ['012', 12],
      ['test[16:]', 'test[16:]'],
      ["'x/y'", 'x/y'],
      // Single quotes are YAML's: no escapes in them.
      ["'C:\\new'", 'C:\\new'],
      ["'it\\'s'", "it's"],
      ['none', 'none'],
      ['"None"', 'None'],
      ["'None'", 'None'],
    ] as const) {
      assert.deepEqual(valueOf(text), value, text);
    }
  });

  it('says where the published scripts would have kept the text', () => {
    const there = (text: string): boolean => parseOverride(`key=${text}`).textThere;
    assert.deepEqual(['false', 'true', 'null', '{a: 1}', '012'].map(there), [true, true, true, true, true]);
    assert.deepEqual(['False', 'None', '3', 'text', "'a'", '[1]', ''].map(there), Array(7).fill(false));
  });

  it('refuses an item without = in one sentence', () => {
    for (const item of ['magrpo.num_turns', '=1', '']) {
      assert.throws(
        () => parseOverride(item),
        (error) => {
          assert.ok(error instanceof C3Error && error.kind === 'input');
          assert.match(error.message, /^--override .*: write key\.path=value\.$/);
          return true;
        },
      );
    }
    assert.throws(() => parseOverride('a=[1'), /the value is not YAML/);
  });
});

describe('withOverrides', () => {
  const over = (base: object, merged: boolean, ...items: readonly string[]): object =>
    applyOverrides(base, items.map(parseOverride), merged);

  it('nests dotted keys, and the later one wins', () => {
    assert.deepEqual(over({ a: { b: 1, c: 2 } }, true, 'a.b=3', 'd.e.f=4', 'a.b=5'), {
      a: { b: 5, c: 2 },
      d: { e: { f: 4 } },
    });
    const base = { a: { b: 1 } };
    over(base, true, 'a.b=2');
    assert.deepEqual(base, { a: { b: 1 } });
  });

  it('merges a mapping where the scripts do, and replaces it elsewhere', () => {
    assert.deepEqual(over({ a: { b: 1, c: 2 } }, true, "a={'b': 3}"), { a: { b: 3, c: 2 } });
    assert.deepEqual(over({ a: { b: 1, c: 2 } }, false, 'a={b: 3}'), { a: { b: 3 } });
    assert.deepEqual(over({ a: [1, 2] }, true, 'a=[3]'), { a: [3] });
  });

  it('refuses a way through a value', () =>
    assert.throws(() => over({ a: 1 }, true, 'a.b=2'), /--override a\.b=2: a is not a mapping\./));

  it('keeps a key called __proto__ a key', () => {
    const value = over({}, true, '__proto__.x=1');
    assert.deepEqual(Object.keys(value), ['__proto__']);
    assert.equal(Object.hasOwn(Object.prototype, 'x'), false);
  });
});
