/** Equal messages of one context share a credit, and the gradient's estimate is the one that they have one by one. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { creditIfComparable } from '../../../src/credit/compared.ts';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { CONFIGURABLE_ESTIMATORS, requireEstimator } from '../../../src/credit/estimators.ts';
import { creditEqualMessages as found, type MergedMember } from '../../../src/credit/merged.ts';
import type { Credit } from '../../../src/shared/credit/credit.ts';

const mergedCredits = (...args: Parameters<typeof found>): (Credit | null)[] =>
  found(...args).map(({ shared }) => shared);

const member = (text: string, returns: readonly (number | null)[], draw: string, value?: number): MergedMember => ({
  text,
  returns,
  draw,
  evaluatorCalls: returns.length,
  ...(value !== undefined && { value }),
});

const close = (actual: number | undefined, expected: number): void =>
  assert.ok(Math.abs((actual ?? NaN) - expected) < 1e-12, `${String(actual)} is not ${expected}`);

describe('mergedCredits', () => {
  it('gives equal messages the mean of their leave-one-out credits, so that their sum stays', () => {
    const credits = mergedCredits(
      [
        member('a', [1, 0], 'first'),
        member('a', [1, 1], 'second'),
        member('b', [0, 0], 'third'),
        member('c', [0, 1], 'fourth'),
      ],
      'loo',
    );
    // J / (J - 1) (R - mean of all), J = 4: R = 3/4, 0 and 1/2, mean 1/2.
    close(credits[0]?.value, (4 / 3) * (3 / 4 - 1 / 2));
    assert.deepEqual(credits[0], credits[1]);
    close(credits[2]?.value, (4 / 3) * (0 - 1 / 2));
    close(credits[3]?.value, 0);
    assert.deepEqual([credits[0]?.n, credits[0]?.evaluatorCalls], [8, 8]);
  });

  it('keeps the sum over the draws of every text, for any group and estimator', () => {
    const numbers = openStream(3, 0);
    let place = 0;
    const draw = (high: number): number => Math.floor(uniform(numbers, place++) * high);
    for (let trial = 0; trial < 200; trial++) {
      const texts = Array.from({ length: 2 + draw(6) }, () => String(draw(4)));
      const members = texts.map((text, index) => ({
        ...member(
          text,
          Array.from({ length: 1 + draw(3) }, () => (draw(8) === 0 ? null : draw(3) / 2)),
          String(index),
          Number(text) / 3,
        ),
        outside: { mean: 0.4, weight: (index % 3) / 2 },
      }));
      for (const { name } of CONFIGURABLE_ESTIMATORS) {
        const [merged, single] = [mergedCredits(members, name, 0.75), creditIfComparable(members, name, 0.75)];
        // Alone, equal texts have 0 where credit is of their returns, also where counts are not the same.
        const several = new Set(texts).size > 1 || requireEstimator(name).needs !== 'returns';
        for (const text of several ? new Set(texts) : []) {
          const sum = (of: typeof single): number =>
            of.reduce((total, credit, index) => total + (texts[index] === text ? (credit?.value ?? 0) : 0), 0);
          close(sum(merged), sum(single));
        }
        assert.deepEqual(
          merged.map((credit) => credit === null),
          single.map((credit) => credit === null),
        );
        for (const credit of merged) {
          const { value = 0, low = null, high = null } = credit ?? {};
          assert.ok(low === null || high === null || low <= high);
          assert.ok(name !== 'loo' || low === null || high === null || (low <= value + 1e-9 && value <= high + 1e-9));
        }
      }
    }
  });

  it('is exactly 0 where all say the same, with nothing to compare for an interval', () => {
    const members = [member('a', [1], 'x'), member('a', [0, 0.1], 'y'), member('a', [0.3], 'z')];
    for (const credit of [...mergedCredits(members, 'loo'), ...mergedCredits(members, 'loo_two_level')]) {
      assert.deepEqual([credit?.value, credit?.low, credit?.high, credit?.interval], [0, null, null, 'none']);
    }
  });

  it('also says what a draw is worth by its own returns', () => {
    const members = [member('a', [1, 0], 'x'), member('a', [0, 0], 'y'), member('c', [1, 1], 'z')];
    assert.deepEqual(
      found(members, 'loo').map(({ own }) => own),
      creditIfComparable(members, 'loo'),
    );
  });

  it('is what single credits are where no two are equal', () => {
    const members = [member('a', [1, 0], 'x'), member('b', [0, 0], 'y'), member('c', [1, 1], 'z')];
    assert.deepEqual(mergedCredits(members, 'loo'), creditIfComparable(members, 'loo'));
  });

  it('counts copies once: they are one draw', () => {
    const drawn = [member('a', [1], 'x'), member('b', [0], 'y'), member('b', [1], 'z')];
    const copied = [drawn[0], { ...drawn[0], evaluatorCalls: 0 }, drawn[1], drawn[2]].flatMap((one) => one ?? []);
    const [first, copy, ...others] = mergedCredits(copied as MergedMember[], 'loo');
    assert.deepEqual([first, ...others], mergedCredits(drawn, 'loo'));
    assert.deepEqual(copy, first);
  });

  it('has no credit where nothing can be compared', () => {
    assert.deepEqual(mergedCredits([], 'loo'), []);
    assert.deepEqual(mergedCredits([member('a', [1], 'x')], 'loo'), [null]);
    assert.deepEqual(mergedCredits([member('a', [1], 'x'), member('a', [null], 'y')], 'loo'), [null, null]);
  });
});
