/** Verdicts of findings, from draws of known chances. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { judgeFinding } from '../../../src/credit/findingVerdict.ts';
import { isAsExpected, type FindingVerdict } from '../../../src/domain/answer.ts';

/** What a check says that stops as soon as it is decided, of 100 draws at most. */
function checked(then: number, now: number, shared: number, seed: number): FindingVerdict {
  const stream = openStream(seed, 0);
  const draws: [number, number][] = [];
  for (let draw = 0; draw < 100; draw += 20) {
    for (let one = draw; one < draw + 20; one++) {
      const first = uniform(stream, 3 * one);
      // Some of the draws share their random numbers, as those of similar weights do.
      const second = uniform(stream, 3 * one + 1) < shared ? first : uniform(stream, 3 * one + 2);
      draws.push([first < then ? 2 : 0, second < now ? 2 : 0]);
    }
    const { verdict } = judgeFinding(draws, 2);
    if (verdict !== 'undecided') {
      return verdict;
    }
  }
  return 'undecided';
}
/** Checks of each kind. */
const EACH = 100;
const verdicts = (then: number, now: number, shared = 0): FindingVerdict[] =>
  Array.from({ length: EACH }, (_, seed) => checked(then, now, shared, 3400 + seed));
const countOf = (all: readonly FindingVerdict[], verdict: FindingVerdict): number =>
  all.filter((one) => one === verdict).length;

describe('the verdict of a finding', () => {
  it('is held where each draw returns what it did, after 60 draws, and undecided before', () => {
    const equal = (count: number): [number, number][] => Array.from({ length: count }, (_, at) => [at % 2, at % 2]);
    assert.equal(judgeFinding(equal(20), 1).verdict, 'undecided');
    const { verdict, difference } = judgeFinding(equal(60), 1);
    assert.deepEqual([verdict, difference?.value, difference?.n], ['held', 0, 60]);
  });

  it('is fixed where the chance rose and worse where it fell, whatever the range of returns', () => {
    assert.ok(countOf(verdicts(0.1, 0.7), 'fixed') === EACH);
    assert.ok(countOf(verdicts(0.7, 0.1), 'worse') === EACH);
  });

  it('changes for a team that is as it was in at most 5 % of checks', () => {
    for (const [chance, shared] of [
      [0.5, 0],
      [0.9, 0],
      [0.3, 0.5],
      [0.5, 0.9],
    ] as const) {
      const all = verdicts(chance, chance, shared);
      assert.ok(countOf(all, 'fixed') + countOf(all, 'worse') <= EACH / 20, `${chance}, ${shared}`);
    }
  });

  it('is not held where the chance moved by more than a tenth, in at most 5 % of checks', () => {
    assert.ok(countOf(verdicts(0.5, 0.38, 0.7), 'held') <= EACH / 20);
    assert.ok(countOf(verdicts(0.02, 0.13, 0.9), 'held') <= EACH / 20);
  });

  it('leaves out draws that one side could not score, and says nothing where none is left', () => {
    assert.deepEqual(judgeFinding([[null, 1]], 1), { verdict: 'undecided', difference: null });
    assert.equal(
      judgeFinding(
        [
          [0, 1],
          [1, null],
          [1, 1],
        ],
        1,
      ).difference?.value,
      0.5,
    );
  });

  it('passes where it is as good as expected, and neither passes nor fails undecided', () => {
    assert.deepEqual(
      (['worse', 'undecided', 'held', 'fixed'] as const).map((one) => [
        isAsExpected(one, 'held'),
        isAsExpected(one, 'fixed'),
      ]),
      [
        [false, false],
        [null, null],
        [true, false],
        [true, true],
      ],
    );
  });
});
