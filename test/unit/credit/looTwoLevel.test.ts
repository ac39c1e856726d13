/** Two-level leave-one-out: its weights, the variance that they leave, and the variances that they follow. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { creditIfComparable } from '../../../src/credit/compared.ts';
import { creditGroup, estimateGroup } from '../../../src/credit/estimators.ts';
import { weighOutside } from '../../../src/credit/estimators/looTwoLevel.ts';
import {
  addNestedSums,
  estimateNestedVariances,
  makeLeafNode,
  makeParentNode,
  sumNestedSquares,
  type ReturnNode,
} from '../../../src/credit/nestedVariance.ts';
import { C3Error } from '../../../src/shared/errors.ts';

/** A tree by its returns: a number or null is a leaf. */
type Returns = number | null | readonly Returns[];
const nodeOf = (returns: Returns): ReturnNode =>
  typeof returns === 'number' || returns === null ? makeLeafNode(returns) : makeParentNode(returns.map(nodeOf));
const nodesOf = (returns: readonly Returns[]): ReturnNode[] => returns.map(nodeOf);

const close = (actual: number | undefined, expected: number, what = ''): void =>
  assert.ok(Math.abs((actual ?? NaN) - expected) < 1e-12, `${what}: ${String(actual)} is not ${expected}`);

/** The mean outside of the first message of a plan. */
const ofFirst = (roots: readonly ReturnNode[], plan: number, variances: readonly number[]) => {
  const above = roots[plan] ?? assert.fail();
  return weighOutside(roots, above.children, { level: 1, above: new Set([above]) }, variances)[0];
};

/** e_w and e_o of a balanced tree, as published with the method. */
const errorsOf = (plans: number, answers: number, up: number, down: number): readonly [number, number] => [
  down / (answers - 1),
  (up * plans) / (plans - 1) + down / ((plans - 1) * answers),
];

describe('the weight of the mean outside', () => {
  it('is e_w / (e_w + e_o) in a balanced tree', () => {
    for (const [plans, answers] of [
      [2, 4],
      [2, 2],
      [4, 3],
      [3, 5],
    ] as const) {
      for (const [up, down] of [
        [1, 1],
        [0, 2],
        [3, 0.5],
      ] as const) {
        const roots = nodesOf(Array.from({ length: plans }, () => Array.from({ length: answers }, () => 0)));
        const [within, outside] = errorsOf(plans, answers, up, down);
        close(ofFirst(roots, 0, [up, down])?.weight, within / (within + outside), `${plans} x ${answers}`);
      }
    }
  });

  it('follows leaves, levels and masks', () => {
    // Three levels. For the message 1 below plan A and part a, with V = 4, 2, 1: its sibling 0 has e_w = 1. Outside are
    // part b with the leaves 1, 0 and plan B with the leaf 1, N = 3.
    //   e_o = 4 (2/3 - 1)^2 [A] + 2 (0 - 1)^2 [a] + 2 (2/3)^2 [b] + 1 (1/9 + 1/9) [below b]
    //         + 4 (1/3)^2 [B] + 2 (1/3)^2 + 1 (1/3)^2 [below B] = (4 + 18 + 8 + 2 + 4 + 2 + 1) / 9 = 13/3
    const roots = nodesOf([
      [
        [1, 0],
        [1, 0],
      ],
      [[1, null]],
    ]);
    const [plan = assert.fail()] = roots;
    const [part = assert.fail()] = plan.children;
    const found = weighOutside(roots, part.children, { level: 2, above: new Set([plan, part]) }, [4, 2, 1]);
    close(found[0]?.mean, 2 / 3);
    close(found[0]?.weight, 1 / (1 + 13 / 3));
  });

  it('is 1 without siblings, 0 if siblings do not differ, and nothing is outside a lone plan', () => {
    const roots = nodesOf([
      [1, null],
      [0, 1],
    ]);
    assert.deepEqual(ofFirst(roots, 0, [1, 1]), { mean: 0.5, weight: 1 });
    close(ofFirst(roots, 1, [1, 0])?.weight, 0);
    assert.equal(ofFirst(roots, 1, [0, 0]), undefined);
    assert.equal(ofFirst(nodesOf([[1, 0, 1]]), 0, [0, 1]), undefined);
    assert.deepEqual(weighOutside(roots, roots, { level: 0, above: new Set() }, [1, 1]), [undefined, undefined]);
    // All leaves of the other plan are masked.
    assert.equal(ofFirst(nodesOf([[1, 0], [null]]), 0, [1, 1]), undefined);
  });
});

describe('the credit of loo_two_level', () => {
  const outside = { mean: 0.5, weight: 0.25 };
  const of = (...returns: (number | null)[]) =>
    returns.map((value) => ({ returns: [value], evaluatorCalls: 1, outside }));

  it('is the return less the mixture of both means', () => {
    const found = estimateGroup({ alternatives: of(1, 0, 0) }, 'loo_two_level');
    // 1 - (3/4 * 0 + 1/4 * 1/2), and 0 - (3/4 * 1/2 + 1/4 * 1/2).
    assert.deepEqual(
      found.map((one) => one?.credit),
      [0.875, -0.5, -0.5],
    );
  });

  it('is compared with the mean outside alone if no sibling has a return, and leave-one-out without one', () => {
    assert.deepEqual(
      creditIfComparable(of(1, null), 'loo_two_level').map((one) => one?.value ?? null),
      [0.5, null],
    );
    const plain = of(1, 0, 0.5).map(({ returns, evaluatorCalls }) => ({ returns, evaluatorCalls }));
    assert.deepEqual(
      creditGroup({ alternatives: plain }, 'loo_two_level').map((one) => ({ ...one, estimator: 'loo' })),
      creditGroup({ alternatives: plain }, 'loo'),
    );
    const [first] = creditGroup({ alternatives: of(1, 0) }, 'loo_two_level');
    assert.deepEqual([first?.low, first?.high, first?.interval], [null, null, 'none']);
  });

  it('refuses a mean or a weight out of range', () => {
    for (const wrong of [
      { mean: Infinity, weight: 0.5 },
      { mean: 0, weight: 1.5 },
      { mean: 0, weight: NaN },
    ]) {
      const alternatives = [1, 0].map((value) => ({ returns: [value], evaluatorCalls: 1, outside: wrong }));
      assert.throws(
        () => estimateGroup({ alternatives }, 'loo_two_level'),
        (error) => error instanceof C3Error && /give a number from -1e6 to 1e6, and a weight in/u.test(error.message),
      );
    }
  });
});

/** Returns all 2^count lists of `count` signs, each -1 or 1. */
const signs = (count: number): number[][] =>
  count === 0 ? [[]] : signs(count - 1).flatMap((one) => [-1, 1].map((sign) => [...one, sign]));

describe('the variance of the credit of an answer in a tree of 2 plans with 4 answers each', () => {
  for (const rho of [0.16, 0.25, 1, 3, 8]) {
    it(`is the smallest among all weights for V_u / V_d = ${rho}`, () => {
      // A return is u + d, with u = +-sqrt(rho) for a plan and d = +-1 for an answer: 2^10 outcomes.
      const outcomes = signs(10).map(([one = 0, other = 0, ...answers]) =>
        [one, other].map((plan, index) =>
          answers.slice(4 * index, 4 * index + 4).map((answer) => plan * Math.sqrt(rho) + answer),
        ),
      );
      const variance = (weightOf: (roots: readonly ReturnNode[]) => number): number => {
        const credits = outcomes.map((trees) => {
          const roots = nodesOf(trees);
          const [first = []] = trees;
          const weight = weightOf(roots);
          const outside = { mean: ofFirst(roots, 0, [rho, 1])?.mean ?? NaN, weight };
          const alternatives = first.map((value) => ({ returns: [value], evaluatorCalls: 1, outside }));
          return estimateGroup({ alternatives }, 'loo_two_level')[0]?.credit ?? NaN;
        });
        assert.ok(Math.abs(credits.reduce((sum, one) => sum + one, 0)) < 1e-9);
        return credits.reduce((sum, one) => sum + one ** 2, 0) / credits.length;
      };
      const [within, outside] = errorsOf(2, 4, rho, 1);
      const predicted = (weight: number): number => 1 + (1 - weight) ** 2 * within + weight ** 2 * outside;
      const twoLevel = variance((roots) => ofFirst(roots, 0, [rho, 1])?.weight ?? NaN);
      close(twoLevel, 1 + (within * outside) / (within + outside), 'two-level');
      // Leave-one-out is weight 0. The mean over all seven other leaves has weight 4/7.
      for (const weight of [0, 4 / 7, ...Array.from({ length: 21 }, (_, index) => index / 20)]) {
        const other = variance(() => weight);
        close(other, predicted(weight), `weight ${weight}`);
        assert.ok(other >= twoLevel - 1e-12, `${weight}: ${other} is below ${twoLevel}`);
      }
      assert.ok(predicted(0) > twoLevel + 1e-3 && predicted(4 / 7) > twoLevel + 1e-3);
    });
  }
});

describe('the variances of nested returns', () => {
  it('are the components of the analysis of variance of a balanced tree', () => {
    // Means 3/4 and 1/4, and 1/2 of all. Within: S_d = 2 * 4 * (1/4)(3/4) = 3/2 with 6 degrees, V_d = 1/4. Between:
    // S_u = 2 * 4 * (1/4)^2 = 1/2 = V_d + 4 V_u, so V_u = 1/16.
    const sums = sumNestedSquares(
      nodesOf([
        [1, 1, 1, 0],
        [0, 0, 1, 0],
      ]),
    );
    assert.deepEqual(sums, {
      squares: [0.5, 1.5],
      expected: [
        [4, 1],
        [0, 6],
      ],
    });
    assert.deepEqual(estimateNestedVariances(sums), [0.0625, 0.25]);
  });

  it('are 0 where the estimate is negative', () => {
    // Equal means of 1/2: V_d = 1 / 2, and V_u = (0 - 1/2) / 2 < 0.
    assert.deepEqual(
      estimateNestedVariances(
        sumNestedSquares(
          nodesOf([
            [1, 0],
            [0, 1],
          ]),
        ),
      ),
      [0, 0.5],
    );
  });

  it('of three levels', () => {
    // Leaves differ by 4 within each part: S_3 = 4 * 8 = 32 with 4 degrees, V_3 = 8. The parts have the means 2, 8 and
    // 20, 22: S_2 = 4 * 9 + 4 * 1 = 40 with 2 degrees, 20 = V_3 + 2 V_2, V_2 = 6. The plans have 5 and 21:
    // S_1 = 8 * 64 = 512 = V_3 + 2 V_2 + 4 V_1, V_1 = 123.
    const roots = nodesOf([
      [
        [0, 4],
        [6, 10],
      ],
      [
        [18, 22],
        [20, 24],
      ],
    ]);
    assert.deepEqual(estimateNestedVariances(sumNestedSquares(roots)), [123, 6, 8]);
  });

  it('add up over problems and steps, in which a problem keeps its own mean', () => {
    // The second problem has S_d = 1/2 with 1 degree: V_d = (3/2 + 1/2) / (6 + 1), and nothing to say of plans.
    const [one, other] = [
      [
        [1, 1, 1, 0],
        [0, 0, 1, 0],
      ],
      [[11, 10]],
    ].map((problem) => sumNestedSquares(nodesOf(problem)));
    const found = estimateNestedVariances(addNestedSums(one ?? assert.fail(), other ?? assert.fail()));
    close(found[1], 2 / 7);
    close(found[0], (1 / 2 - 2 / 7) / 4);
    // Earlier sums count half: V_d = (3/4 + 1/2) / (3 + 1).
    close(estimateNestedVariances(addNestedSums(one ?? assert.fail(), other ?? assert.fail(), 0.5))[1], 5 / 16);
  });

  it('are unbiased for unequal, masked and early ending trees', () => {
    // Plan A has two parts, of two leaves and of one; plan B ends at once or has a part with a masked leaf.
    const [plan, part, leaf] = [2, 3, 0.5];
    const expected = [0, 0, 0];
    const all = signs(9);
    let factors: readonly (readonly number[])[] = [];
    for (const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0] of all) {
      const sums = sumNestedSquares(
        nodesOf([
          [
            [plan * a + part * d + leaf * g, plan * a + part * d + leaf * h],
            [plan * a + part * e + leaf * i, null],
          ],
          [plan * b + part * f],
          plan * c,
        ]),
      );
      sums.squares.forEach((square, level) => {
        expected[level] = (expected[level] ?? 0) + square / all.length;
      });
      factors = sums.expected;
    }
    for (const [level, square] of expected.entries()) {
      const predicted = [plan, part, leaf].reduce((sum, one, k) => sum + (factors[level]?.[k] ?? 0) * one ** 2, 0);
      close(square, predicted, `level ${level}`);
    }
    close(estimateNestedVariances({ squares: expected, expected: factors })[0], plan ** 2);
    close(estimateNestedVariances({ squares: expected, expected: factors })[1], part ** 2);
    close(estimateNestedVariances({ squares: expected, expected: factors })[2], leaf ** 2);
  });

  it('count at the level above if no message has a sibling', () => {
    // Four plans with one answer each: V_1 = 1/3 is the variance of 1, 0, 1, 0.
    const [first, second] = estimateNestedVariances(sumNestedSquares(nodesOf([[1], [0], [1], [0]])));
    close(first, 1 / 3);
    assert.equal(second, 0);
  });
});
