import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { duplicateRate, duplicateRates, nearDuplicateRate } from '../../../src/diagnostics/duplicates.ts';
import {
  testNoiseLaw,
  predictedNoise,
  randomSplitHalf,
  measureReliability,
  splitHalfReliability,
} from '../../../src/diagnostics/reliability.ts';
import { bucket } from './buckets.ts';

const close = (actual: number | null | undefined, expected: number, tolerance = 1e-9): void => {
  assert.ok(
    typeof actual === 'number' && Math.abs(actual - expected) <= tolerance,
    `${String(actual)} is not ${expected}`,
  );
};
const ROWS = [
  [0, 1, 1, 1, 0, 1],
  [1, 1, 1, 0, 1, 1],
  [0, 0, 1, 0, 0, 1],
  [1, 0, 0, 1, 1, 0],
];

describe('split-half reliability', () => {
  it('correlates the credits of even and odd replays', () => {
    // SciPy on the means of the halves, 1/3, 1, 1/3, 2/3 and 1, 2/3, 0, 1/3.
    close(
      splitHalfReliability(
        bucket({
          returns: [
            [0, 1, 1, 1, 0, 1],
            [1, 1, 1, 0, 1, 1],
            [0, 0, 1, 0, 0, 0],
            [1, 0, 0, 1, 1, 0],
          ],
        }),
      ),
      0.10540925533894598,
    );
    close(
      splitHalfReliability(
        bucket({
          returns: [
            [0, 0.1],
            [1, 0.9],
            [0.5, 0.6],
          ],
        }),
      ),
      1,
    );
    close(
      splitHalfReliability(
        bucket({
          returns: [
            [0, 1],
            [1, 0],
            [0.5, 0.5],
          ],
        }),
      ),
      -1,
    );
  });

  it('takes the replays that every alternative has, and leaves out what cannot be split', () => {
    close(
      splitHalfReliability(
        bucket({
          returns: [
            [0, 0.1, 9, 9],
            [1, 0.9],
            [0.5, 0.6, 0.5],
          ],
        }),
      ),
      1,
    );
    for (const returns of [
      [
        [0, 1],
        [1, 0],
      ],
      [[0], [1], [0.5]],
      [
        [1, 0],
        [1, 1],
        [1, 0.5],
      ],
      [
        [0, null],
        [1, 1],
        [0, 1],
      ],
    ]) {
      assert.equal(splitHalfReliability(bucket({ returns })), null);
    }
    const found = measureReliability([bucket({ returns: ROWS }), bucket({ returns: [[0], [1], [1]] })]);
    assert.deepEqual([found.leftOut, found.evenOdd?.n, found.random?.n], [1, 1, 1]);
  });

  it('agrees over random halves with the mean over all of them', () => {
    // Two replays each: a split either keeps or swaps an alternative's pair, eight equally likely cases.
    const rows = [
      [0, 0.3],
      [0.2, 0.9],
      [0.6, 0.7],
    ];
    const cases = Array.from(
      { length: 8 },
      (_, bits) =>
        splitHalfReliability(
          bucket({ returns: rows.map(([a = 0, b = 0], j) => ((bits >> j) & 1 ? [b, a] : [a, b])) }),
        ) ?? NaN,
    );
    close(randomSplitHalf(bucket({ returns: rows }), 20_000), cases.reduce((sum, one) => sum + one, 0) / 8, 0.01);
    assert.equal(randomSplitHalf(bucket({ returns: rows }), 50, 3), randomSplitHalf(bucket({ returns: rows }), 50, 3));
  });
});

describe('the law of noise', () => {
  it('is s^2 n / (c (n - 1)), smallest at two alternatives for the same calls', () => {
    close(predictedNoise(0.25, 4, 2), (0.25 * 16) / (8 * 3));
    const byAlternatives = [2, 3, 4, 6, 12].map((n) => predictedNoise(1, n, 12 / n));
    assert.deepEqual(
      byAlternatives,
      [...byAlternatives].sort((a, b) => a - b),
    );
  });

  it('holds for independent replays, and sees random numbers that are shared', () => {
    const make = (shared: boolean): ReturnType<typeof bucket>[] =>
      Array.from({ length: 800 }, (_, b) => {
        const stream = openStream(11, b);
        return bucket({
          returns: Array.from({ length: 4 }, (__, j) =>
            Array.from({ length: 4 }, (___, m) => (uniform(stream, shared ? m : 4 * j + m) < 0.3 + 0.1 * j ? 1 : 0)),
          ),
        });
      });
    const independent = testNoiseLaw(make(false));
    assert.ok(Math.abs((independent.ratio?.value ?? NaN) - 1) < 0.08, String(independent.ratio?.value));
    assert.ok((independent.ratio?.low ?? NaN) < 1 && 1 < (independent.ratio?.high ?? NaN));
    // s^2 is p (1 - p) of each alternative: 0.21, 0.24, 0.25, 0.24, on average 0.235.
    close(independent.predicted, predictedNoise(0.235, 4, 4), 0.004);
    assert.ok((independent.share ?? 0) > 0.5 && (independent.share ?? 2) < 1);
    assert.ok((testNoiseLaw(make(true)).ratio?.value ?? NaN) < 0.6);
  });

  it('leaves out contexts without noise or replays', () => {
    const found = testNoiseLaw([
      bucket({
        returns: [
          [1, 1],
          [0, 0],
        ],
      }),
      bucket({ returns: [[1], [0]] }),
      bucket({ returns: [[1, 0]] }),
    ]);
    assert.deepEqual(found, { ratio: null, predicted: null, share: null, leftOut: 3 });
  });
});

describe('duplicates', () => {
  it('are alternatives that say the same, whitespace folded', () => {
    assert.equal(duplicateRate(['a  b', ' a b\n', 'a b', 'c']), 0.75);
    assert.equal(duplicateRate(['a', 'A', 'b']), 0);
    assert.equal(duplicateRate(['a']), null);
  });

  it('are near where more than 0.9 of the words are shared', () => {
    const words = 'a b c d e f g h i j k l m n o p q r s'.split(' ');
    // 19 of 20 words, 0.95; and 18 of 20, 0.9, which is not more.
    assert.equal(nearDuplicateRate([words.join(' '), [...words, 'new'].join(' ')]), 1);
    assert.equal(nearDuplicateRate([words.slice(0, 18).join(' '), [...words, 'new'].join(' ')]), 0);
    assert.equal(nearDuplicateRate(['', ' ', 'x']), 2 / 3);
  });

  it('are averaged over contexts', () => {
    const found = duplicateRates([
      bucket({ texts: ['a', 'a'] }),
      bucket({ texts: ['a', 'b'] }),
      bucket({ texts: ['a'] }),
      bucket({ texts: ['x', 'y', 'x'], credited: 2 }),
    ]);
    assert.deepEqual([found.exact?.value, found.exact?.n, found.near?.value, found.leftOut], [1 / 3, 3, 1 / 3, 1]);
  });
});
