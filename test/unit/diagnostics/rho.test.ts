import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { predictVarianceRatios, estimateRho, varianceComponents } from '../../../src/diagnostics/rho.ts';
import { mean, near, numbers, variance } from './numbers.ts';

/**
 * A team in a table: the first message has four texts, the second two, each likely alike; the return is 1 with a chance
 * that depends on both.
 */
const CHANCES = [
  [0.95, 0.8],
  [0.2, 0.6],
  [0.1, 0],
  [0.7, 0.4],
];
const TRUE_UP = variance(CHANCES.map(mean));
const TRUE_DOWN = mean(CHANCES.map((row) => mean(row) * (1 - mean(row))));

function pilot(next: () => number, alternatives: number, replays: number): number[][] {
  return Array.from({ length: alternatives }, () => {
    const row = CHANCES[Math.floor(4 * next())] ?? [];
    return Array.from({ length: replays }, () => (next() < (row[Math.floor(2 * next())] ?? 0) ? 1 : 0));
  });
}

describe('the components of the variance of a return', () => {
  it('are unbiased: their mean over pilots is what the table of the team says', () => {
    const next = numbers(1);
    const found = Array.from({ length: 20_000 }, () => varianceComponents(pilot(next, 4, 3)));
    near(mean(found.flatMap((one) => one?.upstream ?? [])), TRUE_UP, 0.03);
    near(mean(found.flatMap((one) => one?.downstream ?? [])), TRUE_DOWN, 0.02);
  });

  it('are unbiased where some replays are masked', () => {
    const next = numbers(2);
    const found = Array.from({ length: 30_000 }, () =>
      varianceComponents(pilot(next, 4, 4).map((returns, index) => returns.slice(index % 4))),
    );
    near(mean(found.flatMap((one) => one?.upstream ?? [])), TRUE_UP, 0.04);
    near(mean(found.flatMap((one) => one?.downstream ?? [])), TRUE_DOWN, 0.03);
  });

  it('are null where one alternative, or one replay of each, says nothing of them', () => {
    assert.equal(varianceComponents([[1, 0, 1]]), null);
    assert.equal(varianceComponents([[1], [0], [1]]), null);
    assert.equal(varianceComponents([[1, 0], []]), null);
    assert.deepEqual(
      varianceComponents([
        [1, 1],
        [0, 0],
      ]),
      { upstream: 0.5, downstream: 0 },
    );
  });
});

describe('rho', () => {
  it('has an interval that covers the truth as often as it says', () => {
    const truth = TRUE_UP / TRUE_DOWN;
    const next = numbers(3);
    const tries = 1500;
    let covered = 0;
    for (let index = 0; index < tries; index++) {
      const rho = estimateRho(Array.from({ length: 48 }, () => pilot(next, 6, 4)));
      covered +=
        rho?.low !== null && rho?.high !== null && rho !== null && rho.low <= truth && truth <= rho.high ? 1 : 0;
    }
    assert.ok(covered / tries > 0.925 && covered / tries < 0.975, String(covered / tries));
  });

  it('is null where nothing is left downstream, and unbounded where contexts are too few', () => {
    assert.equal(estimateRho([]), null);
    assert.equal(
      estimateRho([
        [
          [1, 1],
          [0, 0],
        ],
      ]),
      null,
    );
    const one = estimateRho([
      [
        [1, 0],
        [0, 0],
      ],
    ]);
    assert.deepEqual([one?.low, one?.high, one?.n], [null, null, 1]);
  });
});

describe('the predicted ratio of variances', () => {
  it('is 7 (rho + 1/4) / (1 + rho) and (7/6) / (1 + rho) for [2, 4] against 8 episodes', () => {
    for (const rho of [0.2, 1, 3, 8]) {
      const [plan, answer] = predictVarianceRatios([rho, 1], [2, 4], 8);
      near(plan ?? 0, (7 * (rho + 0.25)) / (1 + rho), 1e-12);
      near(answer ?? 0, 7 / 6 / (1 + rho), 1e-12);
    }
  });

  it('is null where there is nothing to compare', () => {
    assert.deepEqual(predictVarianceRatios([1, 1, 1], [2, 4], 8).slice(2), [null]);
    assert.deepEqual(predictVarianceRatios([0, 0], [2, 4], 8), [null, null]);
    assert.deepEqual(predictVarianceRatios([1, 1], [2, 4], 1), [null, null]);
  });
});
