/** What roles are worth by removal and by Shapley's value, against games that are solved by hand. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MOST_ROLES, removalContributions, shapleyValues, type Coalition } from '../../../src/credit/coalitions.ts';

const close = (found: readonly number[], expected: readonly number[]): void => {
  assert.equal(found.length, expected.length);
  found.forEach((value, index) =>
    assert.ok(Math.abs(value - (expected[index] ?? NaN)) < 1e-12, `${found.join()} is not ${expected.join()}`),
  );
};

/** A left glove and two right ones: a pair is worth 1. */
const gloves = ([left, ...right]: Coalition): number => (left === true && right.includes(true) ? 1 : 0);

/** The definition: what each role adds, the mean over all orders. */
function byOrders(roles: number, rewardOf: (coalition: Coalition) => number): number[] {
  const orders = (left: readonly number[]): number[][] =>
    left.length === 0
      ? [[]]
      : left.flatMap((one) => orders(left.filter((other) => other !== one)).map((rest) => [one, ...rest]));
  const all = orders(Array.from({ length: roles }, (_, role) => role));
  const sums = Array.from({ length: roles }, () => 0);
  for (const order of all) {
    const members = Array.from({ length: roles }, () => false);
    for (const role of order) {
      const before = rewardOf(members);
      members[role] = true;
      sums[role] = (sums[role] ?? 0) + rewardOf(members) - before;
    }
  }
  return sums.map((sum) => sum / all.length);
}

describe('what a role is worth', () => {
  it('is by removal what the whole team loses without it', () => {
    close(removalContributions(3, gloves), [1, 0, 0]);
    close(
      removalContributions(1, ([own]) => (own === true ? 0.25 : 0)),
      [0.25],
    );
  });

  it("is by Shapley's value shared among those who can replace each other", () => {
    close(shapleyValues(3, gloves), [2 / 3, 1 / 6, 1 / 6]);
    const worth = [0.5, 0.25, 0, -1];
    const added = (members: Coalition): number =>
      worth.reduce((sum, own, role) => sum + (members[role] === true ? own : 0), 0);
    close(shapleyValues(4, added), worth);
    close(removalContributions(4, added), worth);
  });

  it('is the mean over all orders, for rewards without any pattern', () => {
    const rewardOf = (members: Coalition): number =>
      Math.sin(members.reduce((sum, own, role) => sum + (own ? 3 ** role : 0), 1));
    close(shapleyValues(5, rewardOf), byOrders(5, rewardOf));
  });

  it('is refused for more roles than whose parts can all be looked at', () =>
    assert.throws(() => shapleyValues(MOST_ROLES + 1, () => 0), RangeError));
});
