import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import {
  differenceInterval,
  newcombeInterval,
  pairedBootstrap,
  welchInterval,
  wilsonInterval,
} from '../../../src/credit/interval.ts';
import { fUpperTail, logGamma, regularizedBeta, studentTQuantile } from '../../../src/credit/studentT.ts';
import type { Interval } from '../../../src/domain/credit.ts';
import { C3Error } from '../../../src/shared/errors.ts';

function isNear(actual: number | null | undefined, expected: number, tolerance: number): void {
  assert.ok(typeof actual === 'number' && Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}
function bounds(interval: Interval | null, low: number, high: number, tolerance = 5.1e-5): void {
  isNear(interval?.low, low, tolerance);
  isNear(interval?.high, high, tolerance);
}

describe('wilson', () => {
  it("reproduces Newcombe's published examples (1998, single proportion, method 3)", () => {
    bounds(wilsonInterval(81, 263), 0.2553, 0.3662);
    bounds(wilsonInterval(15, 148), 0.0624, 0.1605);
    bounds(wilsonInterval(0, 20), 0, 0.1611);
    bounds(wilsonInterval(1, 29), 0.0061, 0.1718);
  });

  it('has bounds at which the score test just rejects', () => {
    // Definition: |p - bound| = z sqrt(bound (1 - bound) / n).
    for (const [successes, n] of [
      [1, 1],
      [3, 4],
      [7, 30],
      [500, 1000],
    ] as const) {
      const interval = wilsonInterval(successes, n);
      for (const bound of [interval?.low, interval?.high]) {
        assert.ok(typeof bound === 'number');
        isNear(Math.abs(successes / n - bound), 1.959963984540054 * Math.sqrt((bound * (1 - bound)) / n), 1e-9);
      }
    }
  });

  it('is exact at the ends, mirrors, and refuses what is no proportion', () => {
    assert.deepEqual([wilsonInterval(0, 7)?.low, wilsonInterval(7, 7)?.high, wilsonInterval(7, 7)?.n], [0, 1, 7]);
    isNear(wilsonInterval(2, 9)?.low, 1 - (wilsonInterval(7, 9)?.high ?? 0), 1e-15);
    assert.equal(wilsonInterval(0, 0), null);
    for (const [successes, n] of [
      [-1, 2],
      [3, 2],
      [0.5, 2],
      [1, Number.NaN],
      [0, -1],
    ] as const) {
      assert.throws(() => wilsonInterval(successes, n), C3Error);
    }
  });
});

describe('newcombe', () => {
  it('reproduces the published examples (1998, differences, method 10)', () => {
    bounds(newcombeInterval(56, 70, 48, 80), 0.0524, 0.3339);
    bounds(newcombeInterval(9, 10, 3, 10), 0.1705, 0.809);
    bounds(newcombeInterval(6, 7, 2, 7), 0.0582, 0.8062);
    bounds(newcombeInterval(5, 56, 0, 29), -0.0381, 0.1926);
    bounds(newcombeInterval(0, 10, 0, 20), -0.1611, 0.2775);
    bounds(newcombeInterval(0, 10, 0, 10), -0.2775, 0.2775);
    bounds(newcombeInterval(10, 10, 0, 20), 0.6791, 1);
    bounds(newcombeInterval(10, 10, 0, 10), 0.6075, 1);
  });

  it('turns round with its sides and counts both', () => {
    const [one, other] = [newcombeInterval(6, 7, 2, 9), newcombeInterval(2, 9, 6, 7)];
    isNear(one?.low, -(other?.high ?? 0), 1e-15);
    assert.equal(one?.n, 16);
    assert.equal(newcombeInterval(0, 0, 1, 2), null);
    assert.equal(newcombeInterval(1, 2, 0, 0), null);
  });
});

describe("student's t", () => {
  it('has the closed forms of 1, 2 and 4 degrees of freedom', () => {
    for (const p of [0.51, 0.6, 0.9, 0.975, 0.995, 0.99999]) {
      const tan = Math.tan(Math.PI * (p - 0.5));
      isNear(studentTQuantile(p, 1) / tan, 1, 1e-9);
      isNear(studentTQuantile(p, 2) / ((2 * p - 1) / Math.sqrt(2 * p * (1 - p))), 1, 1e-9);
      const root = Math.sqrt(4 * p * (1 - p));
      isNear(studentTQuantile(p, 4) / (2 * Math.sqrt(Math.cos(Math.acos(root) / 3) / root - 1)), 1, 1e-9);
    }
  });

  it('reproduces the printed table', () => {
    const table: [number, number, number][] = [
      [1, 12.706, 63.657],
      [2, 4.303, 9.925],
      [3, 3.182, 5.841],
      [5, 2.571, 4.032],
      [10, 2.228, 3.169],
      [20, 2.086, 2.845],
      [30, 2.042, 2.75],
      [120, 1.98, 2.617],
    ];
    for (const [degrees, at95, at99] of table) {
      isNear(studentTQuantile(0.975, degrees), at95, 5.1e-4);
      isNear(studentTQuantile(0.995, degrees), at99, 5.1e-4);
    }
  });

  it('takes broken and large degrees of freedom (values of scipy 1.17)', () => {
    isNear(studentTQuantile(0.975, 0.7), 36.611415031588656, 1e-8);
    isNear(studentTQuantile(0.975, 24.988529), 2.05958649257915, 1e-11);
    isNear(studentTQuantile(0.975, 1e6), 1.959966356814107, 1e-8);
    isNear(studentTQuantile(0.025, 5), -2.5705818356363146, 1e-11);
    assert.equal(studentTQuantile(0.5, 3), 0);
    for (const [p, degrees] of [
      [0, 1],
      [1, 1],
      [0.9, 0],
      [0.9, Number.NaN],
    ] as const) {
      assert.throws(() => studentTQuantile(p, degrees), C3Error);
    }
  });

  it('computes the functions behind it', () => {
    isNear(Math.exp(logGamma(5)), 24, 1e-12);
    isNear(Math.exp(logGamma(0.5)), Math.sqrt(Math.PI), 1e-13);
    isNear(Math.exp(logGamma(0.01)), 99.4325851191506, 1e-10);
    isNear(Math.exp(logGamma(0.25) + logGamma(0.75)), Math.PI * Math.SQRT2, 1e-12);
    // For whole a and b it is a binomial tail: P(at least 3 of 9 heads) = 233 / 256.
    isNear(regularizedBeta(0.5, 3, 7), 233 / 256, 1e-14);
    isNear(regularizedBeta(0.3, 2.5, 0.5), 0.018927124071945658, 1e-14);
    isNear(regularizedBeta(0.9, 12, 0.5), 0.11552285426683222, 1e-13);
    // The arc sine law.
    isNear(regularizedBeta(0.001, 0.5, 0.5), (2 / Math.PI) * Math.asin(Math.sqrt(0.001)), 1e-15);
    assert.deepEqual([regularizedBeta(0, 2, 3), regularizedBeta(1, 2, 3)], [0, 1]);
    assert.throws(() => regularizedBeta(1.1, 1, 1), C3Error);
    assert.throws(() => regularizedBeta(0.5, 0, 1), C3Error);
  });

  it('computes F tails (values of scipy 1.17)', () => {
    isNear(fUpperTail(4.26, 2, 9), 0.04991003038154897, 1e-13);
    isNear(fUpperTail(0.5, 3, 12), 0.6892693638616519, 1e-13);
    isNear(fUpperTail(3, 1, 4), 0.15830242337545788, 1e-13);
    assert.equal(fUpperTail(0, 2, 2), 1);
    assert.equal(fUpperTail(Number.POSITIVE_INFINITY, 2, 2), 0);
  });
});

describe('welch', () => {
  it('computes a case by hand', () => {
    // 1, 3 against 0, 4: means 2 and 2, variances of the means 1 and 4, degrees 25 / (1 + 16), so not whole.
    const interval = welchInterval([1, 3], [0, 4]);
    const reach = studentTQuantile(0.975, 25 / 17) * Math.sqrt(5);
    bounds(interval, -reach, reach, 1e-12);
    // 0, 2 against 10, 12: equal variances, so exactly 2 degrees of freedom and t = 4.302652729749.
    bounds(
      welchInterval([0, 2], [10, 12]),
      -10 - 4.302652729749464 * Math.SQRT2,
      -10 + 4.302652729749464 * Math.SQRT2,
      1e-11,
    );
  });

  it('agrees with scipy on unequal samples', () => {
    const a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
    const b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
    bounds(welchInterval(a, b), -3.984096267140929, -0.3492370661924069, 1e-11);
    bounds(welchInterval([0.5, 0.75], [0.1, 0.2, 0.6]), -0.31054807638152276, 0.9605480763815228, 1e-11);
  });

  it('says nothing where there is no spread', () => {
    assert.deepEqual(welchInterval([0.5, 0.5, 0.5], [0.25, 0.5]), { value: 0.125, low: null, high: null, n: 5 });
    // The mean of three 0.1 is not 0.1: a variance by subtraction would not be 0.
    assert.equal(welchInterval([0.1, 0.1, 0.1], [0.25, 0.5])?.low, null);
    assert.equal(welchInterval([0.5], [0.1, 0.2])?.low, null);
    assert.equal(welchInterval([0.1, 0.2], [0.5])?.high, null);
    assert.equal(welchInterval([], [1, 2]), null);
  });

  it('stays finite for tiny variances', () => {
    const interval = welchInterval([0, 1e-170], [1, 1 + 2 ** -52]);
    assert.ok(Number.isFinite(interval?.low) && Number.isFinite(interval?.high));
  });
});

describe('differenceInterval', () => {
  it('takes Newcombe for zeros and ones, Welch as soon as one return is neither', () => {
    assert.deepEqual(differenceInterval([1], [0, 1, 1]), { ...newcombeInterval(1, 1, 2, 3), method: 'newcombe' });
    assert.deepEqual(differenceInterval([1, 0.5], [0, 1, 1]), {
      ...welchInterval([1, 0.5], [0, 1, 1]),
      method: 'welch',
    });
    assert.equal(differenceInterval([0, 1], [0.5, 1])?.method, 'welch');
    assert.deepEqual(differenceInterval([0.5], [0, 1, 1])?.method, 'none');
    assert.equal(differenceInterval([], [1]), null);
  });
});

describe('pairedBootstrap', () => {
  it('approaches the exact distribution of resampled means', () => {
    // Three differences 0, 1, 5: the 27 equally likely means, so quantiles can be read off.
    // P(mean 0) = P(mean 5) = 1/27 > 2.5 %.
    assert.deepEqual(
      pairedBootstrap(
        [
          [1, 1],
          [0, 1],
          [1, 6],
        ],
        1,
      ),
      { value: 2, low: 0, high: 5, n: 3 },
    );
    // 50 zeros and 50 ones: the mean is binomial(100, 1/2) / 100, whose quantiles are 40 and 60.
    const coins = Array.from({ length: 100 }, (_, index): [number, number] => [0, index % 2]);
    bounds(pairedBootstrap(coins, 7), 0.4, 0.6, 0.0101);
    // 20 of 400 items gained: near normal, 0.05 +- 1.96 sqrt(0.05 * 0.95 / 400).
    const gains = Array.from({ length: 400 }, (_, index): [number, number] => [0, index % 20 === 0 ? 1 : 0]);
    bounds(
      pairedBootstrap(gains, 3),
      0.05 - 1.96 * Math.sqrt(0.0475 / 400),
      0.05 + 1.96 * Math.sqrt(0.0475 / 400),
      0.0035,
    );
  });

  it('is after minus before, and pairs the two', () => {
    const interval = pairedBootstrap(
      [
        [0, 1],
        [10, 11],
        [20, 20.5],
      ],
      5,
    );
    isNear(interval?.value, 2.5 / 3, 1e-15);
    // Unpaired, the spread of the items would swamp the difference.
    assert.ok((interval?.low ?? 0) >= 0.5 && (interval?.high ?? 2) <= 1);
  });

  it('is a function of the seed', () => {
    const pairs = Array.from({ length: 37 }, (_, index): [number, number] => [0, Math.sin(index)]);
    assert.deepEqual(pairedBootstrap(pairs, 11), pairedBootstrap(pairs, 11));
    assert.notDeepEqual(pairedBootstrap(pairs, 11), pairedBootstrap(pairs, 12));
    // Seeds that agree in their low 32 bits are different seeds.
    assert.notDeepEqual(pairedBootstrap(pairs, 11), pairedBootstrap(pairs, 2 ** 32 + 11));
    assert.notDeepEqual(pairedBootstrap(pairs, 11), pairedBootstrap(pairs, 11, 500));
  });

  it('says nothing where it cannot', () => {
    assert.equal(pairedBootstrap([], 1), null);
    assert.deepEqual(pairedBootstrap([[0, 1]], 1), { value: 1, low: null, high: null, n: 1 });
    assert.deepEqual(
      pairedBootstrap(
        [
          [0, 1],
          [1, 2],
        ],
        1,
      ),
      { value: 1, low: null, high: null, n: 2 },
    );
    for (const seed of [-1, 0.5, Number.NaN]) {
      assert.throws(() => pairedBootstrap([[0, 1]], seed), C3Error);
    }
    assert.throws(() => pairedBootstrap([[0, 1]], 1, 0), C3Error);
    assert.throws(() => pairedBootstrap([[0, Number.NaN]], 1), C3Error);
  });
});

describe('counter', () => {
  it('fills the unit interval evenly, along a stream and across streams', () => {
    const walks = [
      (index: number): number => uniform(openStream(1, 0), index),
      (index: number): number => uniform(openStream(1, index), 0),
      (index: number): number => uniform(openStream(index, 0), 0),
    ];
    for (const walk of walks) {
      const pairs = new Array<number>(64).fill(0);
      const draws = 64_000;
      for (let index = 0; index < draws; index++) {
        const [x, y] = [walk(2 * index), walk(2 * index + 1)];
        assert.ok(x >= 0 && x < 1);
        const cell = Math.floor(x * 8) * 8 + Math.floor(y * 8);
        pairs[cell] = (pairs[cell] ?? 0) + 1;
      }
      // Chi-square with 63 degrees of freedom: the middle 99.98 % lie between 30 and 114.
      const chi = pairs.reduce((sum, count) => sum + (count - draws / 64) ** 2 / (draws / 64), 0);
      assert.ok(chi > 30 && chi < 114, `chi-square ${chi}`);
    }
  });
});
