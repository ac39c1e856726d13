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
 * JSON.parse of Node 24 (V8 13.6) takes some keys with escapes for others: `{"":1,"\"":2}` after `{"":1,"\\":2}`, and
 * `"\\spans\""` after `"\\spans"`. Keys have none here; texts do.
 */
const KEY = TEXT.filter((text) => !/["\\\n]/u.test(text));

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

  it('go on behind a document that breaks off, which costs its own line', () => {
    const good = ['{"a":{"b":[1,{"c":"x"}]}}', '[{"d":1},{"e":2}]', '{"samples":[{"f":1}]}', '{"g":"\\"{["}'];
    const all = good.flatMap((line) => found(line));
    const broken = [
      '{"a":[1,{"c":"te',
      '{"a":[1,{"c":"te"',
      '{"a":[1,',
      '{"a":[1,{"c":',
      '{"a":[1,2',
      '{"a":',
      '{"a":[1}',
      '}',
      'a text',
      '{"a":1',
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...good.keys()), { minLength: 1, maxLength: 4 }),
        fc.array(fc.constantFrom(...good.keys()), { minLength: 2, maxLength: 4 }),
        fc.constantFrom(...broken),
        fc.integer({ min: 3, max: 60 }),
        (before, after, cut, piece) => {
          const lines = [...before.map((one) => good[one]), cut, ...after.map((one) => good[one])];
          const scanner = new ElementScanner(sourceOf(lines.join('\n')), piece);
          const count = [...scanner.pieces()].flat().length;
          const expected = [...before, ...after].reduce((sum, one) => sum + found(good[one] ?? '').length, 0);
          // A list that breaks off right before another document may take that one with it.
          assert.ok(count >= expected - (/[[,:]$/u.test(cut) ? 2 : 0), lines.join('\n'));
          assert.ok(scanner.brokenCount >= 1 && scanner.brokenCount <= 2);
          assert.equal(scanner.broken[0]?.line, before.length + 1);
        },
      ),
      { numRuns: 400 },
    );
    assert.equal(all.length, 5);
  });

  it('hand on every byte once, in order, also of what is read again after a break', () => {
    const text = '{"a":1}\n{"a":[1,{"c":"te\n{"b":2}\n{"c":[{"ä":3}]}\n';
    for (const piece of [1, 3, 7, 16, 100]) {
      const bytes: Buffer[] = [];
      const scanner = new ElementScanner(sourceOf(text), piece);
      const entries = [...scanner.pieces((some) => bytes.push(Buffer.from(some)))].flat();
      assert.equal(Buffer.concat(bytes).toString(), text, `${entries.length} entries in pieces of ${piece}`);
    }
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
