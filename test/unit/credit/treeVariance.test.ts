/** The predicted variance of a tree's gradient, and the choice of a tree. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chooseTree,
  predictCreditVariances,
  predictGradientVariance,
  type PricedTree,
} from '../../../src/credit/treeVariance.ts';
import { predictVarianceRatios } from '../../../src/diagnostics/rho.ts';
import { creditsOf, plantedTree } from './plantedTree.ts';

const VARIANCES = [1.5, 0.4, 0.9];
const ESTIMATORS = ['loo', 'loo_two_level'] as const;
/** All fan-outs up to 3 roles, 3 alternatives and 2 replays. */
const FANOUTS = [
  ...[1, 2, 3].map((first) => [first]),
  ...[1, 2, 3].flatMap((first) => [1, 2, 3].map((second) => [first, second])),
  ...[1, 2, 3].flatMap((first) => [1, 2, 3].flatMap((second) => [1, 2].map((third) => [first, second, third]))),
];

const near = (found: number, expected: number, what: string): void =>
  assert.ok(Math.abs(found - expected) < 1e-9 * Math.max(1, expected), `${what}: ${found} is not ${expected}`);

describe('the predicted variance of a credit', () => {
  for (const estimator of ESTIMATORS) {
    it(`is that of the method's own credits in every small tree: ${estimator}`, () => {
      for (const fanout of FANOUTS) {
        const tree = plantedTree(fanout);
        // A credit is linear in the returns, so the effect of each message is planted alone.
        const squares = tree.messages.map(() => 0);
        let credited = squares.map(() => false);
        for (const [index, { position }] of tree.messages.entries()) {
          tree.plant(tree.messages.map((_, other) => (other === index ? 1 : 0)));
          const credits = creditsOf(tree, estimator, VARIANCES);
          credits.forEach((credit, m) => {
            squares[m] = (squares[m] ?? 0) + (VARIANCES[position] ?? 0) * (credit ?? 0) ** 2;
          });
          credited = credits.map((credit) => credit !== null);
        }
        const predicted = predictCreditVariances(fanout, VARIANCES.slice(0, fanout.length), estimator !== 'loo');
        for (const [level, found] of predicted.entries()) {
          const own = [...tree.messages.keys()].filter((m) => tree.messages[m]?.position === level);
          assert.ok(own.every((m) => credited[m] === (found !== null)));
          const sum = own.reduce((total, m) => total + (squares[m] ?? NaN), 0);
          near(found ?? 0, sum / own.length ** 2, `[${fanout.join()}] level ${level}`);
        }
      }
    });

    it(`is that of the gradient over every outcome of planted returns and scores: ${estimator}`, () => {
      for (const fanout of [[2], [3], [2, 2], [3, 1], [1, 3], [2, 1, 1], [1, 2, 1]]) {
        const tree = plantedTree(fanout);
        const { length } = tree.messages;
        const sums = fanout.map(() => 0);
        for (let effects = 0; effects < 2 ** length; effects++) {
          tree.plant(tree.messages.map(({ position }, m) => sign(effects, m) * Math.sqrt(VARIANCES[position] ?? 0)));
          const credits = creditsOf(tree, estimator, VARIANCES);
          for (let scores = 0; scores < 2 ** length; scores++) {
            for (const level of fanout.keys()) {
              const own = [...tree.messages.keys()].filter((m) => tree.messages[m]?.position === level);
              const slope = own.reduce((sum, m) => sum + sign(scores, m) * (credits[m] ?? 0), 0) / own.length;
              sums[level] = (sums[level] ?? 0) + slope ** 2 / 4 ** length;
            }
          }
        }
        const predicted = predictCreditVariances(fanout, VARIANCES.slice(0, fanout.length), estimator !== 'loo');
        for (const [level, sum] of sums.entries()) {
          near(predicted[level] ?? 0, sum, `[${fanout.join()}] level ${level}`);
        }
      }
    });
  }

  it('agrees with the ratios of c3 plan --rho, where a level has siblings', () => {
    for (const rho of [0.16, 0.25, 1, 3, 8]) {
      for (const fanout of [
        [2, 4],
        [4, 2],
      ]) {
        const tree = predictCreditVariances(fanout, [rho, 1], false);
        const whole = predictCreditVariances([8, 1], [rho, 1], false);
        for (const [level, ratio] of predictVarianceRatios([rho, 1], fanout, 8).entries()) {
          near((tree[level] ?? NaN) / (whole[level] ?? NaN), ratio ?? NaN, `${rho} [${fanout.join()}] ${level}`);
        }
      }
    }
  });
});

describe('the chosen tree', () => {
  const trees = [
    [1, 8],
    [2, 4],
    [4, 2],
    [8, 1],
  ].map((fanout) => ({ fanout, cost: 8 }));
  const choose = (variances: readonly number[], scores: readonly number[]): string =>
    String(chooseTree(trees, { variances, scores }, false)?.fanout);

  it('is whole episodes where both messages of a pair learn alike, at any rho', () => {
    for (const rho of [0, 0.16, 0.25, 1, 3, 8, Infinity]) {
      assert.equal(choose(rho === Infinity ? [1, 0] : [rho, 1], [1, 1]), '8,1');
    }
  });

  it('follows the scores: with much of the gradient in answers, and returns by plans, answers get siblings', () => {
    // With V = 8, 1: whole episodes 9/7 (1 + S); [4, 2] 8.5/3 + S/4; [2, 4] 8.25 + S/6.
    assert.equal(choose([8, 1], [1, 1]), '8,1');
    assert.equal(choose([8, 1], [1, 10]), '4,2');
    assert.equal(choose([8, 1], [1, 100]), '2,4');
    assert.equal(choose([8, 1], [0, 1]), '1,8', 'plans do not learn');
  });

  it('takes the cost into account, and of equal trees the one that is wider first', () => {
    const facts = { variances: [1, 1], scores: [1, 1] };
    // 4/7 for [8, 1] against 3/4 for [4, 2], whose cost must be below 16/21 of the other.
    const priced = (costs: readonly number[]) => trees.map((tree, index) => ({ ...tree, cost: costs[index] ?? NaN }));
    assert.deepEqual(chooseTree(priced([8, 8, 6, 8]), facts, false)?.fanout, [4, 2]);
    assert.deepEqual(chooseTree(priced([8, 8, 6.2, 8]), facts, false)?.fanout, [8, 1]);
    const none = { variances: [0, 0], scores: [1, 1] };
    assert.deepEqual(chooseTree(trees.slice(1, 3), none, false)?.fanout, [4, 2]);
    assert.equal(chooseTree<PricedTree>([], none, false), undefined);
  });

  it('never lacks the credit of a role that learns', () => {
    assert.equal(predictGradientVariance([1, 8], { variances: [1, 1], scores: [1, 1] }, false), Infinity);
    assert.equal(predictGradientVariance([1, 8], { variances: [1, 1], scores: [0, 1] }, false), 1 / 7);
  });
});

const sign = (bits: number, place: number): number => (((bits >> place) & 1) === 0 ? -1 : 1);
