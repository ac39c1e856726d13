import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HashedStream } from '../../../src/tasks/hashedStream.ts';

test('words are the big-endian words of SHA-256(label NUL counter), block after block', () => {
  // Digests of "label\0" + "0" and "label\0" + "1", by Python's hashlib.
  const digests =
    'bcd1e6ac9105218e7dee8058c5a0a83d9ded53a4f1ca824a7d937e376bd9f378' +
    '143cd09d100adc84cd383e1618085e7a6775c1ac9ed98ef5085e9077ce7772d2';
  const stream = new HashedStream('label');
  const words = Array.from({ length: 16 }, () =>
    stream
      .integer(0, 2 ** 32 - 1)
      .toString(16)
      .padStart(8, '0'),
  );
  assert.equal(words.join(''), digests);
});

test('integers stay in their range and are equally likely', () => {
  const stream = new HashedStream('uniform');
  const counts = new Map<number, number>();
  for (let draw = 0; draw < 7000; draw++) {
    const value = stream.integer(-3, 3);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts.keys()].sort((a, b) => a - b),
    [-3, -2, -1, 0, 1, 2, 3],
  );
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
  // 99.9 % quantile of the chi-square distribution with 6 degrees of freedom.
  assert.ok(chiSquare < 22.46, `chi-square ${chiSquare}`);
});

test('a range that does not divide 2^32 has no modulo bias', () => {
  // With a plain modulo the lower half of 3 * 2^30 values would come up twice as often.
  const stream = new HashedStream('bias');
  let low = 0;
  for (let draw = 0; draw < 3000; draw++) {
    low += stream.integer(0, 3 * 2 ** 30 - 1) < 2 ** 30 ? 1 : 0;
  }
  assert.ok(Math.abs(low / 3000 - 1 / 3) < 0.03, `share ${low / 3000}`);
});

test('weighted choices follow their weights; weights of zero and missing ones are never chosen', () => {
  const stream = new HashedStream('weights');
  const counts = { a: 0, b: 0, c: 0, d: 0, e: 0 };
  for (let draw = 0; draw < 4000; draw++) {
    counts[stream.weighted(['a', 'b', 'c', 'd', 'e'] as const, [1, 0, 2, 1])]++;
  }
  assert.equal(counts.b + counts.e, 0);
  assert.ok(Math.abs(counts.a / 4000 - 0.25) < 0.03, `share ${counts.a / 4000}`);
  assert.ok(Math.abs(counts.c / 4000 - 0.5) < 0.03, `share ${counts.c / 4000}`);
  assert.throws(() => stream.weighted(['a', 'b'], [0, 0]), RangeError);
});

test('a chance comes true as often as it says, and nothing can be picked from nothing', () => {
  const stream = new HashedStream('chance');
  const hits = Array.from({ length: 4000 }, () => stream.chance(0.3)).filter(Boolean).length;
  assert.ok(Math.abs(hits / 4000 - 0.3) < 0.03, `share ${hits / 4000}`);
  assert.throws(() => stream.pick([]), RangeError);
});
