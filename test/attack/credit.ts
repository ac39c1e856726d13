/** Hostile returns: as many as are allowed, and numbers that no formula survives. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { mean } from '../../src/credit/describe.ts';
import { CREDIT_ESTIMATORS, creditGroup, estimateGroup, type CreditGroup } from '../../src/credit/estimators.ts';
import { leaveOneOut } from '../../src/credit/estimators/loo.ts';
import { creditPoolMembers } from '../../src/credit/headline.ts';
import { compareWithSiblings } from '../../src/credit/siblings.ts';
import { creditLines } from '../../src/engine/lines/creditLines.ts';
import type { CreditPool } from '../../src/shared/credit/creditPool.ts';
import { isReturn, MAX_RETURN } from '../../src/shared/credit/returns.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { growth, MOST_GROWTH, seed, tally } from './harness.ts';

const credits = tally('credit');

const groupOf = (size: number, graded: boolean): CreditGroup => ({
  alternatives: Array.from({ length: size }, (_, j) => ({
    returns: graded ? [(j % 7) / 3, (j % 11) / 2] : [j % 2, (j >> 1) % 2],
    evaluatorCalls: 2,
    value: (j % 5) / 4,
  })),
  value: 0.5,
  alpha: 0.5,
});

/** A context whose message was replayed over and over, each time beside texts that nobody had said before. */
const replayedTimes = (requests: number): CreditPool => ({
  terminal: false,
  range: { low: 0, high: 1 },
  buckets: Array.from({ length: requests }, (_, id) => ({
    id,
    members: ['asked', ...Array.from({ length: 4 }, (_draw, place) => `${id} ${place}`)].map((key, place) => ({
      key,
      drawn: place > 0,
      results: [0, 1].map((stream) => ({
        stream,
        source: String(stream),
        value: (id + stream + place) % 2,
        evaluatorCalls: 1,
      })),
    })),
  })),
});

/** Numbers at which doubles, squares, sums or formats change. */
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.1,
  1e-320,
  -1e-320,
  Number.MIN_VALUE,
  2 ** -1022,
  Number.EPSILON,
  1e-162,
  1e-200,
  1e15,
  1e16,
  MAX_RETURN,
  -MAX_RETURN,
  MAX_RETURN * (1 + Number.EPSILON),
  1e9,
  1e154,
  1e155,
  1e200,
  1e308,
  -1e308,
  Number.MAX_VALUE,
  Infinity,
  -Infinity,
  NaN,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 64,
];
const within = fc.oneof(
  fc.constantFrom(...NUMBERS.filter(isReturn)),
  fc.double({ min: -MAX_RETURN, max: MAX_RETURN, noNaN: true }),
  fc.constantFrom(0, 1),
);
const groups = (number: fc.Arbitrary<number>): fc.Arbitrary<CreditGroup> =>
  fc.record({
    alternatives: fc.array(
      fc.record({
        returns: fc.array(fc.option(number, { freq: 8 }), { maxLength: 6 }),
        evaluatorCalls: fc.nat(9),
        value: number,
      }),
      { minLength: 1, maxLength: 7 },
    ),
    value: number,
    alpha: fc.double({ min: 0, max: 1, noNaN: true }),
  });

/** What is wrong with the credits of a group; null where nothing is. */
function faultOf(group: CreditGroup, estimator: (typeof CREDIT_ESTIMATORS)[number]): string | null {
  for (const estimate of estimateGroup(group, estimator)) {
    if (estimate !== null && !(Number.isFinite(estimate.baseline) && Number.isFinite(estimate.credit))) {
      return `gives the credit ${estimate.credit} against ${estimate.baseline}`;
    }
  }
  for (const credit of creditGroup(group, estimator)) {
    if (credit === null) {
      continue;
    }
    const { value, low, high } = credit;
    if ((low === null) !== (high === null)) {
      return 'gives one bound of two';
    }
    if (
      !Number.isFinite(value) ||
      (low !== null && high !== null && !(Number.isFinite(low) && Number.isFinite(high) && low <= high))
    ) {
      return `gives ${value} in [${String(low)}, ${String(high)}]`;
    }
  }
  return null;
}

/** How much is tried. */
export interface CreditSizes {
  /** Replays of the smallest pool whose time is taken. */
  readonly requests: number;
  /** Alternatives of the smallest group whose time is taken. */
  readonly alternatives: number;
  /** Groups of hostile numbers for each estimator. */
  readonly groups: number;
}

/** Attacks with returns, as many as the sizes say. */
export function creditAttacks(sizes: CreditSizes): void {
  describe('many replays', () => {
    it('of one context take its credits linear time', () => {
      const ratio = growth(sizes.requests, (requests) => creditPoolMembers(replayedTimes(requests)));
      if (ratio > MOST_GROWTH) {
        credits.broken(`credits of ten times as many requests take ${ratio.toFixed(0)} times as long`);
      }
      credits.held();
    });
  });

  describe('many alternatives', () => {
    it('are read a fixed number of times each by leave-one-out', () => {
      const readsOf = (size: number): number => {
        let reads = 0;
        const alternatives = Array.from({ length: size }, (_, j) => ({
          count: 1,
          get mean() {
            reads++;
            return j % 2;
          },
        }));
        leaveOneOut(alternatives);
        return reads;
      };
      for (const size of [100, 1_000, 10_000]) {
        const reads = readsOf(size);
        if (reads > 5 * size) {
          credits.broken(`leave-one-out of ${size} alternatives reads ${reads} means`);
        }
        credits.held();
      }
    });

    it('of 10,000 take leave-one-out less than 100 ms', () => {
      const alternatives = Array.from({ length: 10_000 }, (_, j) => ({ mean: (j % 7) / 3, count: 1 + (j % 3) }));
      leaveOneOut(alternatives);
      const before = process.cpuUsage();
      leaveOneOut(alternatives);
      const milliseconds = process.cpuUsage(before).user / 1000;
      if (milliseconds > 100) {
        credits.broken(`leave-one-out of 10,000 took ${milliseconds.toFixed(0)} ms`);
      }
      credits.held();
    });

    it('take every estimator linear time', () => {
      for (const estimator of CREDIT_ESTIMATORS) {
        for (const graded of [false, true]) {
          const ratio = growth(sizes.alternatives, (size) => creditGroup(groupOf(size, graded), estimator));
          if (ratio > MOST_GROWTH) {
            credits.broken(
              `${estimator} of ten times as many ${graded ? 'graded' : 'binary'} returns takes ${ratio.toFixed(0)} times as long`,
            );
          }
          credits.held();
        }
      }
    });

    it('get the same credits from both ends as added up afresh', () => {
      // Beyond a thousand the sums come from both ends; what one pass over all others says is the reference.
      const { alternatives } = groupOf(1_500, true);
      const estimates = estimateGroup({ alternatives }, 'loo');
      const intervals = creditGroup({ alternatives }, 'loo');
      const samples = alternatives.map(({ returns }) => returns.filter((value) => value !== null));
      const all = samples.flat();
      const range = { low: Math.min(0, ...all), high: Math.max(1, ...all) };
      for (const index of [0, 1, 749, 1_498, 1_499]) {
        const others = samples.filter((_, other) => other !== index);
        const siblings = others.flatMap((sample) => (sample.length === 0 ? [] : [mean(sample)]));
        const sides = { own: samples[index] ?? [], others: others.flat(), siblings, range };
        const expected = compareWithSiblings(sides);
        const found = intervals[index];
        for (const [actual, wanted] of [
          [estimates[index]?.credit, expected?.value],
          [found?.low, expected?.low],
          [found?.high, expected?.high],
        ]) {
          assert.ok(
            actual === wanted || Math.abs((actual ?? NaN) - (wanted ?? NaN)) < 1e-11,
            `${index}: ${String(actual)} is not ${String(wanted)}`,
          );
        }
        credits.held();
      }
    });

    it('are answered by c3 credit, 10,000 on a line', async () => {
      const line = JSON.stringify({ id: 1, ...groupOf(10_000, true) });
      const before = process.cpuUsage();
      for await (const answer of creditLines(Readable.from([`${line}\n`]), 'loo')) {
        assert.equal((JSON.parse(answer) as { credits: number[] }).credits.length, 10_000);
      }
      const seconds = process.cpuUsage(before).user / 1e6;
      if (seconds > 15) {
        credits.broken(`a line of 10,000 alternatives took ${seconds.toFixed(1)} s`);
      }
      credits.held();
    });
  });

  describe('hostile numbers', () => {
    for (const estimator of CREDIT_ESTIMATORS) {
      it(`within the bound have finite credits by ${estimator}`, () => {
        fc.assert(
          fc.property(groups(within), (group) => {
            const fault = faultOf(group, estimator);
            if (fault !== null) {
              credits.broken(`${estimator} of ${JSON.stringify(group)} ${fault}`);
            }
            credits.held();
          }),
          { seed: seed(), numRuns: sizes.groups },
        );
      });

      it(`beyond the bound are refused by ${estimator} by the name of the bound`, () => {
        fc.assert(
          fc.property(groups(fc.constantFrom(...NUMBERS)), (group) => {
            try {
              const fault = faultOf(group, estimator);
              if (fault !== null) {
                credits.broken(`${estimator} of ${JSON.stringify(group)} ${fault}`);
              }
            } catch (error) {
              if (
                !(
                  error instanceof C3Error &&
                  error.kind === 'input' &&
                  error.message.endsWith('.') &&
                  error.message.includes('from -1e6 to 1e6')
                )
              ) {
                credits.broken(`${estimator}: ${String(error)}`);
              }
            }
            credits.held();
          }),
          { seed: seed(), numRuns: sizes.groups },
        );
      });
    }

    it('on a line of c3 credit are answered with finite numbers or one sentence', async () => {
      const values = [
        '1e308',
        '-1e308',
        '1e309',
        '-0',
        '1e-320',
        '1e6',
        '1000000.1',
        '"1"',
        '"1e308"',
        'true',
        '[]',
        '{}',
        '9007199254740993',
        '1e999',
        '123456789012345678901234567890',
        'null',
        '0.1',
      ];
      for (const estimator of CREDIT_ESTIMATORS) {
        for (const value of values) {
          const line = `{"id":1,"alternatives":[{"returns":[${value},0.5],"value":${value}},{"returns":[1,0.25],"value":0}],"value":${value},"alpha":1}\n`;
          try {
            for await (const answer of creditLines(Readable.from([line]), estimator)) {
              if (/Infinity|NaN/u.test(answer)) {
                credits.broken(`${estimator} of ${value}: ${answer}`);
              }
            }
          } catch (error) {
            if (
              !(
                error instanceof C3Error &&
                error.kind === 'input' &&
                /^standard input, line 1: .*\.$/u.test(error.message)
              )
            ) {
              credits.broken(`${estimator} of ${value}: ${String(error)}`);
            }
          }
          credits.held();
        }
      }
    });
  });
}
