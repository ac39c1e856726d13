import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIFF_LIMIT, diffWords } from '../../../../src/shared/transcript/wordDiff.ts';

const signs = { same: '', removed: '-', added: '+' } as const;
const shown = (before: string, after: string): readonly string[] =>
  diffWords(before, after).map(({ kind, text }) => `${signs[kind]}${text}`);
const sides = (before: string, after: string): readonly string[] =>
  (['added', 'removed'] as const).map((other) =>
    diffWords(before, after)
      .filter(({ kind }) => kind !== other)
      .map(({ text }) => text)
      .join(''),
  );

test('words that differ stand out between those that both texts have', () => {
  assert.deepEqual(shown('the plan is to add', 'the plan is to multiply'), ['the plan is to ', '-add', '+multiply']);
  assert.deepEqual(shown('10*4+10', '10*(4+10)'), ['10*', '+(', '4+10', '+)']);
  assert.deepEqual(shown('a b c', 'a c'), ['a ', '-b ', 'c']);
  assert.deepEqual(shown('x y', 'x z w y'), ['x ', '+z w ', 'y']);
});

test('equal, empty and wholly different texts', () => {
  assert.deepEqual(shown('same', 'same'), ['same']);
  assert.deepEqual(shown('', ''), []);
  assert.deepEqual(shown('', 'new'), ['+new']);
  assert.deepEqual(shown('old', ''), ['-old']);
  assert.deepEqual(shown('1', '2'), ['-1', '+2']);
});

test('the parts join to both texts, whatever these hold', () => {
  const texts = [
    '',
    'a',
    'plan 😀 <b>x</b>',
    'a\u202eb\nc',
    'é e\u0301 中文 123 abc123',
    '  two  blanks ',
    'if (a < b) { return `c`; }',
  ];
  for (const before of texts) {
    for (const after of texts) {
      assert.deepEqual(sides(before, after), [before, after]);
    }
  }
});

test('long texts are cut between characters and take bounded work', () => {
  const long = (word: string): string => `${word} ${'one two three '.repeat(4_000)}`;
  const [before] = sides(long('first'), long('second'));
  assert.equal(before, long('first').slice(0, DIFF_LIMIT));
  const pairs = `${'a'.repeat(DIFF_LIMIT - 1)}😀`;
  assert.equal(sides(pairs, '')[0], 'a'.repeat(DIFF_LIMIT - 1));
  // Every word another one: more than are compared one by one.
  const words = (from: number): string => Array.from({ length: 700 }, (_, index) => `w${from + index}`).join(' ');
  assert.deepEqual(
    diffWords(words(0), words(5_000)).map(({ kind }) => kind),
    ['same', 'removed', 'added'],
  );
});
