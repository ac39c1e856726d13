import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeCosineSchedule } from '../../../src/training/schedule.ts';

describe('cosineSchedule', () => {
  const rates = (totalSteps: number, warmupFraction: number, floorFraction: number): number[] => {
    const rate = makeCosineSchedule({ peak: 0.5, warmupFraction, totalSteps, floorFraction });
    return Array.from({ length: totalSteps + 3 }, (_, step) => rate(step));
  };
  const near = (actual: number | undefined, expected: number): void =>
    assert.ok(actual !== undefined && Math.abs(actual - expected) < 1e-15, `${String(actual)} is not ${expected}`);

  it('rises in equal steps to the peak', () => {
    // A tenth of 40 steps: 1/4, 2/4, 3/4 and all of the peak.
    for (const [step, rate] of rates(40, 0.1, 0.1).slice(0, 4).entries()) {
      near(rate, (0.5 * (step + 1)) / 4);
    }
    // 4.4 steps take 5.
    for (const [step, rate] of rates(40, 0.11, 0.1).slice(0, 5).entries()) {
      near(rate, (0.5 * (step + 1)) / 5);
    }
  });

  it('falls by a half cosine from the peak to the floor and stays there', () => {
    const all = rates(40, 0.1, 0.1);
    near(all[4], 0.5);
    near(all[4 + 9], 0.5 * (0.1 + 0.9 * (0.5 + Math.SQRT2 / 4)));
    near(all[4 + 18], 0.5 * 0.55);
    near(all[40], 0.05);
    near(all[42], 0.05);
    assert.ok(all.slice(4, 41).every((rate, index, list) => index === 0 || rate < (list[index - 1] ?? 0)));
  });

  it('needs no warm-up and no floor', () => {
    const all = rates(2, 0, 0);
    near(all[0], 0.5);
    near(all[1], 0.25);
    near(all[2], 0);
  });

  it('warms up for one step of few, and serves a run of one step', () => {
    near(rates(2, 0.03, 0.1)[0], 0.5);
    near(rates(1, 0, 0.1)[0], 0.5);
    near(rates(1, 1, 0.1)[0], 0.5);
  });
});
