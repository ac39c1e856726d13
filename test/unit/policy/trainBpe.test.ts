import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { END_OF_MESSAGE, trainBpe } from '../../../src/policy/trainBpe.ts';

const schema = z.object({
  model: z.object({ vocab: z.record(z.string(), z.int()), merges: z.array(z.tuple([z.string(), z.string()])) }),
});
const trained = (texts: Iterable<string>, size: number): z.infer<typeof schema>['model'] =>
  schema.parse(trainBpe(texts, size).tokenizer).model;
const merges = (texts: Iterable<string>, size: number): string[] =>
  trained(texts, size).merges.map((pair) => pair.join(' '));
const times = (count: number, text: string): string[] => Array.from({ length: count }, () => text);

/** The end token and 256 bytes. */
const BASE = 257;

describe('trainBpe', () => {
  it('merges the most frequent pair, ties by the smaller pair: the example of Sennrich et al.', () => {
    const texts = [...times(5, 'low'), ...times(2, 'lower'), ...times(6, 'newest'), ...times(3, 'widest')];
    // By hand: es 9, est 9, lo 7, low 7, ew 6 (before n e and w est), ewest, newest, dest 3 (before i d and w i),
    // idest, widest, er 2, lower 2.
    const expected = [
      'e s',
      'es t',
      'l o',
      'lo w',
      'e w',
      'ew est',
      'n ewest',
      'd est',
      'i dest',
      'w idest',
      'e r',
      'low er',
    ];
    assert.deepEqual(merges(texts, 1000), expected);
    assert.deepEqual(merges(texts, BASE + 4), expected.slice(0, 4));
    assert.deepEqual(merges(texts, 10), []);
  });

  it('needs a pair twice', () => {
    assert.deepEqual(merges(['abc'], 1000), []);
    assert.deepEqual(merges(['abc', 'xbc'], 1000), ['b c']);
  });

  it('merges from the left where pairs overlap', () => {
    // aaa twice: a a occurs four times, leaves aa a.
    assert.deepEqual(merges(times(2, 'aaa'), 1000), ['a a', 'aa a']);
  });

  it('does not depend on the order of the texts', () => {
    const texts = ['the cat sat', 'on the mat', 'that the hat', 'is at the cat', 'the theme'];
    assert.deepEqual(trainBpe([...texts].reverse(), 290), trainBpe(texts, 290));
  });

  it('numbers the end token, the bytes and the merges in this order', () => {
    const { vocab, merges: pairs } = trained(times(3, 'hello hello'), 1000);
    assert.equal(vocab[END_OF_MESSAGE], 0);
    const ids = Object.values(vocab).sort((a, b) => a - b);
    assert.deepEqual(
      ids,
      Array.from({ length: BASE + pairs.length }, (_, id) => id),
    );
    // GPT-2's stand-ins: 'A' is itself, byte 0 and the space are the first and the 33rd of the unprintable ones.
    assert.deepEqual([vocab['A'], vocab['Ā'], vocab['Ġ']], [1 + 65, 1, 1 + 32]);
    pairs.forEach((pair, index) => assert.equal(vocab[pair.join('')], BASE + index));
  });

  it('lets no merge touch a digit or cross from a word into what is neither letter nor space', () => {
    const text = 'Tom has 12 apples, 12 pears (12 each): 12+12=24#24';
    const tokens = merges(times(5, text), 1000).map((pair) => pair.replace(' ', '').replaceAll('Ġ', ' '));
    assert.ok(tokens.includes(' apples') && tokens.includes('Tom') && tokens.includes(' ('));
    for (const token of tokens) {
      assert.match(token, /^(?: ?\p{L}+ ?|\s*[^\s\p{L}\p{N}]+\s*|\s+)$/u);
    }
    // A word takes the space after it only where a digit follows.
    assert.ok(tokens.includes(' has ') && !tokens.includes('Tom '));
  });
});
