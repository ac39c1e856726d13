/** The predicted variance of a tree's gradient against simulated teams with normal effects. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { predictGradientVariance } from '../../../../src/credit/treeVariance.ts';
import { creditsOf, plantedTree } from '../../../unit/credit/plantedTree.ts';
import { mean, numbers, variance } from '../../../unit/diagnostics/numbers.ts';

const TREES = 2500;

describe('the predicted variance of the gradient', () => {
  for (const rho of [0.16, 0.25, 1, 3, 8]) {
    it(`is that of simulated trees, summed over both roles: rho ${rho}`, () => {
      const next = numbers(7);
      const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
      for (const estimator of ['loo', 'loo_two_level'] as const) {
        for (const fanout of [
          [2, 4],
          [4, 2],
          [8, 1],
        ]) {
          const tree = plantedTree(fanout);
          const squares = Array.from({ length: TREES }, () => {
            tree.plant(tree.messages.map(({ position }) => normal() * Math.sqrt(position === 0 ? rho : 1)));
            const slopes = [0, 0];
            for (const [m, credit] of creditsOf(tree, estimator, [rho, 1]).entries()) {
              const level = tree.messages[m]?.position ?? NaN;
              const messages = level === 0 ? (fanout[0] ?? NaN) : 8;
              slopes[level] = (slopes[level] ?? NaN) + ((next() < 0.5 ? -1 : 1) * (credit ?? NaN)) / messages;
            }
            return slopes.reduce((sum, slope) => sum + slope ** 2, 0);
          });
          const facts = { variances: [rho, 1], scores: [1, 1] };
          const predicted = predictGradientVariance(fanout, facts, estimator === 'loo_two_level');
          const error = Math.sqrt(variance(squares) / TREES);
          assert.ok(error < 0.06 * predicted, `[${fanout.join()}] is known to ${error}`);
          assert.ok(
            Math.abs(mean(squares) - predicted) < 4 * error,
            `[${fanout.join()}] ${estimator}: ${mean(squares)} +- ${error} is not ${predicted}`,
          );
        }
      }
    });
  }
});
