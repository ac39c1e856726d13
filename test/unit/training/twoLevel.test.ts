/** Two-level leave-one-out as method c3 uses it: exact expected gradients, and the state between steps. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findLeaves, type TreeMessage } from '../../../src/replay/tree.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { c3 } from '../../../src/training/methods/c3.ts';
import type { Credited } from '../../../src/training/methods/method.ts';
import { readTwoLevelState } from '../../../src/training/methods/twoLevel.ts';
import { makeChainProtocol } from '../../support/tabularTeam.ts';
import { exactGradient, findBias, readSettings, requireNoBias, stateOf, treeOf } from './twoLevelBias.ts';

describe('the state of loo_two_level', () => {
  const settings = readSettings([2, 3], false);
  const said = [0, 1, 0, 0, 1, 0, 1, 1];
  const { roots, messages } = treeOf({ fanout: [2, 3] }, (index) => said[index] ?? 0);
  const step = { settings, stage: 0, problems: [roots], measured: [], values: new Map<TreeMessage, number>() };
  const valuesOf = ({ credits }: Credited): (number | undefined)[] =>
    messages.map(({ message }) => credits.get(message)?.value);
  const kind = c3.state?.(settings) ?? assert.fail();

  it('is empty before the first step, whose credits are those of leave-one-out', () => {
    const first = c3.credit({ ...step, state: kind.initial(settings) });
    const loo = readSettings([2, 3], false, 'loo');
    const plain = c3.credit({ ...step, settings: loo, state: { json: null, tensors: {} } });
    assert.deepEqual(valuesOf(first), valuesOf(plain));
    assert.deepEqual([...new Set([...first.credits.values()].map(({ estimator }) => estimator))], ['loo_two_level']);
    assert.equal(c3.state?.(loo), null);
    assert.equal(plain.state, undefined);
  });

  it('is the sums of squares of all earlier steps, nine tenths of them at each step', () => {
    const once = c3.credit({ ...step, state: kind.initial(settings) }).state ?? assert.fail();
    const returns = roots.map((root) => findLeaves(root).map(({ score }) => score?.score ?? NaN));
    const means = returns.map((own) => own.reduce((sum, one) => sum + one, 0) / 3);
    const within = returns.flatMap((own, plan) => own.map((one) => (one - (means[plan] ?? NaN)) ** 2));
    const squares = [1.5 * ((means[0] ?? NaN) - (means[1] ?? NaN)) ** 2, within.reduce((sum, one) => sum + one, 0)];
    const twice = c3.credit({ ...step, state: once }).state ?? assert.fail();
    for (const [{ json }, factor] of [
      [once, 1],
      [twice, 1.9],
    ] as const) {
      const found = readTwoLevelState({ json, tensors: {} });
      for (const [level, square] of squares.entries()) {
        assert.ok(Math.abs((found.squares[level] ?? NaN) - factor * square) < 1e-12);
      }
      // Of V_u and V_d: J2 (J1 - 1) and J1 - 1 between plans, J1 (J2 - 1) within.
      assert.deepEqual(
        found.expected.map((row) => row.map((one) => Math.round((one / factor) * 1e9) / 1e9)),
        [
          [3, 1],
          [0, 4],
        ],
      );
    }
  });

  it('decides the credit, and the returns of the step itself do not', () => {
    // Of an answer in 2 x 3 with V_u = V_d: e_w = 1/2 and e_o = 2 + 1/3.
    const weight = 1 / 2 / (1 / 2 + 7 / 3);
    const found = c3.credit({ ...step, state: stateOf([1, 1]) });
    const scored = ({ children }: TreeMessage): number[] => children.map(({ score }) => score?.score ?? NaN);
    const [plan = assert.fail(), other = assert.fail()] = roots;
    const [own = NaN, ...siblings] = scored(plan);
    const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
    const credit = own - (1 - weight) * mean(siblings) - weight * mean(scored(other));
    assert.ok(Math.abs((found.credits.get(plan.children[0] ?? plan)?.value ?? NaN) - credit) < 1e-12);
    assert.ok(Math.abs((found.credits.get(plan)?.value ?? NaN) - mean(scored(plan)) + mean(scored(other))) < 1e-12);
  });

  it('is not kept for rollout trees, and shared random numbers are refused', () => {
    assert.equal(c3.state?.(readConfig('', 'test', ['magrpo={}'])), null);
    const twoLevel = 'credit.estimator=loo_two_level';
    assert.throws(
      () => readConfig('', 'test', [twoLevel, 'magrpo={}']),
      /loo_two_level does not apply to rollout trees; choose loo/u,
    );
    assert.throws(
      () => readConfig('', 'test', [twoLevel, 'credit.common_random_numbers=true']),
      /credit\.estimator: loo_two_level compares messages of different contexts, which must not share random numbers/u,
    );
    const unique = readConfig('', 'test', [twoLevel, 'fanout_unique=true']);
    assert.match(c3.fault(unique, makeChainProtocol(2)) ?? '', /^fanout_unique needs credit\.estimator loo/u);
  });
});

describe('the expected gradient with loo_two_level', () => {
  requireNoBias([
    { fanout: [2, 2], actions: 3 },
    { fanout: [2, 2], actions: 3, merged: true },
    { fanout: [3, 2], merged: true },
    { fanout: [2, 1, 2], merged: true },
    { fanout: [1, 2, 2], without: [0] },
    { fanout: [2, 2, 1] },
    { fanout: [2, 2, 1], merged: true },
    { fanout: [1, 3], variances: [0, 1], without: [0] },
    { fanout: [4, 1] },
    // Before the variances are known, and with variance at one level only.
    { fanout: [2, 3], variances: [] },
    { fanout: [2, 3], variances: [0, 1] },
    { fanout: [2, 3], variances: [1, 0] },
    // Masked: a leaf, two of three siblings, a whole plan, and all but one leaf of each plan.
    { fanout: [2, 3], masked: [1] },
    { fanout: [2, 3], masked: [1, 2] },
    { fanout: [2, 3], masked: [1, 2], merged: true },
    { fanout: [3, 2], masked: [2, 3] },
    { fanout: [2, 2], masked: [0, 3] },
    { fanout: [2, 2], masked: [0, 3], merged: true },
    { fanout: [2, 2, 1], masked: [0, 3] },
  ]);

  it('is shortened by the share of the own return in the baseline', () => {
    // With the mean of all four leaves as half of the baseline, an eighth of the baseline is the return itself.
    const withOwn = (_: unknown, roots: readonly TreeMessage[]): Map<TreeMessage, { readonly value: number }> => {
      const leaves = roots.flatMap(findLeaves);
      const score = (leaf: TreeMessage | undefined): number => leaf?.score?.score ?? NaN;
      const all = leaves.reduce((sum, leaf) => sum + score(leaf), 0) / leaves.length;
      return new Map(
        leaves.map((leaf) => {
          const sibling = score(leaf.parent?.children[1 - leaf.sibling]);
          return [leaf, { value: score(leaf) - (sibling + all) / 2 }];
        }),
      );
    };
    const [none, biased = 0] = findBias({ fanout: [2, 2] }, withOwn);
    assert.equal(none, null);
    const largest = Math.max(
      ...[...exactGradient(2, 2)].flatMap(([path, value]) => (path.length === 2 ? Math.abs(value) : [])),
    );
    assert.ok(Math.abs((biased ?? NaN) - largest / 8) < 1e-12, `${String(biased)} is not ${largest / 8}`);
  });
});
