import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ELEMENT_LIMITS, ElementScanner } from '../../../src/logs/elements.ts';
import { sourceOf } from './wholeLog.ts';

const PLAIN = { noNullPrototype: true };
const found = (text: string, piece?: number): unknown[] =>
  [...new ElementScanner(sourceOf(text), piece).pieces()]
    .flat()
    .map(({ start, end }) => JSON.parse(Buffer.from(text).toString('utf8', start, end)) as unknown);

const TEXT = fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', '#', '\n', 'ä', 'spans', ' ') });
/**
 * JSON.parse of Node 24 (V8 13.6) takes the second of {"":1,"\\":2} and {"":1,"\"":2} for the first: a key that is one
 * backslash is none here.
 */
const KEY = TEXT.filter((text) => text !== '\\');

describe('the entries of a file', () => {
  it('are the same in pieces of any size, whatever their texts hold', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(KEY, fc.oneof(TEXT, fc.array(TEXT), fc.dictionary(KEY, TEXT, PLAIN)), PLAIN)),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(0, 1),
        (values, piece, space) => {
          const own = values.filter((value) => !Object.keys(value).some((key) => LISTS.has(key)));
          const spans = { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { spans: [] }, spans: own }] }] };
          for (const document of [own, spans, { x: 1, samples: own }]) {
            const text = JSON.stringify(document, null, space);
            assert.deepEqual(found(text, piece), own);
          }
          const lines = own.map((value) => JSON.stringify(value)).join('\n');
          assert.deepEqual(found(`# a comment {\n${lines}`, piece), own);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('too deep or too long for a parser are marked', () => {
    const deep = `{"messages":${'['.repeat(1000)}${']'.repeat(1000)}}`;
    const [element] = [...new ElementScanner(sourceOf(deep)).pieces()].flat();
    assert.deepEqual([element?.excessive, element?.end], [true, deep.length]);
    const long = {
      name: 'x',
      size: ELEMENT_LIMITS.bytes + 100,
      read: (start: number, end: number) => Buffer.alloc(end - start),
      fill: filling,
    };
    const [first] = [...new ElementScanner(long).pieces()].flat();
    assert.equal(first?.excessive, true);
  });
});

const LISTS = new Set(['spans', 'samples', 'data', 'runs', 'resourceSpans']);

/** `[[[[...]]]]`, as one list in a list that is longer than an entry may be. */
function filling(buffer: Buffer, start: number): number {
  const size = ELEMENT_LIMITS.bytes + 100;
  const length = Math.min(buffer.length, size - start);
  buffer.fill(' ', 0, length);
  for (const [at, text] of [
    [0, '[['],
    [size - 2, ']]'],
  ] as const) {
    if (at >= start && at < start + length) {
      buffer.write(text, at - start);
    }
  }
  return length;
}
