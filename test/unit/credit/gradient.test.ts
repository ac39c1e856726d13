/** Equation 21 on a team that is small enough to go through every outcome. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { estimateGroup } from '../../../src/credit/estimators.ts';

/**
 * Two roles: the reasoner picks one of three plans by a softmax of its parameters, the actor then one of two answers,
 * the evaluator scores.
 */
const PARAMETERS = [0.4, -0.3, 0.9];
const ANSWERS = [
  [0.7, 0.3],
  [0.2, 0.8],
  [0.5, 0.5],
];
const SCORES = [
  [1, 0],
  [0, 0.5],
  [0.25, 1],
];

const exponentials = PARAMETERS.map(Math.exp);
const PLANS = exponentials.map((one) => one / exponentials.reduce((a, b) => a + b));
const VALUES = ANSWERS.map((chances, plan) =>
  chances.reduce((sum, chance, answer) => sum + chance * (SCORES[plan]?.[answer] ?? 0), 0),
);
const VALUE = PLANS.reduce((sum, chance, plan) => sum + chance * (VALUES[plan] ?? 0), 0);
/** The gradient of the expected return by the parameters: pi(a) (Q(a) - V). */
const GRADIENT = PLANS.map((chance, plan) => chance * ((VALUES[plan] ?? 0) - VALUE));

interface Outcome {
  readonly chance: number;
  readonly plans: readonly number[];
  /** By alternative. */
  readonly returns: readonly (readonly number[])[];
}

/** Every sequence of `count` plans with its chance. */
function planSequences(count: number): { readonly chance: number; readonly plans: readonly number[] }[] {
  if (count === 0) {
    return [{ chance: 1, plans: [] }];
  }
  return planSequences(count - 1).flatMap(({ chance, plans }) =>
    PLANS.map((own, plan) => ({ chance: chance * own, plans: [...plans, plan] })),
  );
}

/** Every outcome of replaying each plan as often as `replays` says. */
function replayed(
  start: { readonly chance: number; readonly plans: readonly number[] },
  replays: readonly number[],
): Outcome[] {
  return start.plans.reduce<Outcome[]>(
    (outcomes, plan, j) => {
      let own = outcomes.map((outcome) => ({ ...outcome, returns: [...outcome.returns, [] as readonly number[]] }));
      for (let m = 0; m < (replays[j] ?? 0); m++) {
        own = own.flatMap(({ chance, plans, returns }) =>
          (ANSWERS[plan] ?? []).map((likely, answer) => ({
            chance: chance * likely,
            plans,
            returns: returns.map((list, at) => (at === j ? [...list, SCORES[plan]?.[answer] ?? 0] : list)),
          })),
        );
      }
      return own;
    },
    [{ chance: start.chance, plans: start.plans, returns: [] }],
  );
}

/** E[sum over j of A_j grad log pi(a_j)] / N over all outcomes. */
function expectedEstimate(outcomes: readonly Outcome[], estimator: 'loo' | 'full_mean' | 'magrpo_rloo'): number[] {
  const total = PARAMETERS.map(() => 0);
  for (const { chance, plans, returns } of outcomes) {
    const credits = estimateGroup(
      { alternatives: returns.map((one) => ({ returns: one, evaluatorCalls: one.length })) },
      estimator,
    );
    for (const [j, plan] of plans.entries()) {
      for (const [k, own] of PLANS.entries()) {
        total[k] = (total[k] ?? 0) + (chance * (credits[j]?.credit ?? 0) * ((k === plan ? 1 : 0) - own)) / plans.length;
      }
    }
  }
  return total;
}

const close = (actual: readonly number[], expected: readonly number[], tolerance = 1e-14): void => {
  for (const [index, value] of expected.entries()) {
    assert.ok(
      Math.abs((actual[index] ?? NaN) - value) <= tolerance,
      `[${index}] ${String(actual[index])} is not ${value}`,
    );
  }
};

const cosine = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, one, k) => sum + one * (b[k] ?? 0), 0) / Math.hypot(...a) / Math.hypot(...b);

describe('equation 21', () => {
  it('the gradient is that of the expected return, by finite differences', () => {
    const expected = (parameters: readonly number[]): number => {
      const weights = parameters.map(Math.exp);
      return (
        weights.reduce((sum, weight, plan) => sum + weight * (VALUES[plan] ?? 0), 0) / weights.reduce((a, b) => a + b)
      );
    };
    const numeric = PARAMETERS.map((_, k) => {
      const moved = (by: number): number => expected(PARAMETERS.map((one, index) => (index === k ? one + by : one)));
      return (moved(1e-5) - moved(-1e-5)) / 2e-5;
    });
    close(GRADIENT, numeric, 1e-9);
    assert.ok(GRADIENT.every((one) => Math.abs(one) > 1e-3));
  });

  for (const [count, replays] of [
    [2, [1, 1]],
    [2, [2, 2]],
    [3, [1, 1, 1]],
    [4, [1, 1, 1, 1]],
  ] as const) {
    it(`leave-one-out is unbiased with the factor 1/N: N=${count}, replays ${replays.join(',')}`, () => {
      const outcomes = planSequences(count).flatMap((one) => replayed(one, replays));
      close([outcomes.reduce((sum, { chance }) => sum + chance, 0)], [1]);
      close(expectedEstimate(outcomes, 'loo'), GRADIENT);
      // Without the factor, as printed, it is N times too long; the full mean is (N - 1) / N of it.
      close(
        expectedEstimate(outcomes, 'full_mean'),
        GRADIENT.map((one) => (one * (count - 1)) / count),
      );
    });
  }

  it('weights of unequal replays do not bias it', () => {
    close(
      expectedEstimate(
        planSequences(3).flatMap((one) => replayed(one, [1, 3, 2])),
        'loo',
      ),
      GRADIENT,
    );
  });

  it('leaving duplicates out biases it, also in direction', () => {
    // "Distinct" alternatives: sampled again until three different ones are there, so every plan comes once, in some
    // order.
    const distinct = planSequences(3).filter(({ plans }) => new Set(plans).size === 3);
    const all = distinct.reduce((sum, { chance }) => sum + chance, 0);
    const scaled = distinct.flatMap(({ chance, plans }) => replayed({ chance: chance / all, plans }, [1, 1, 1]));
    // By hand: each plan once, so the estimate is sum over a of (Q(a) - mean of the others) (1[a=k] - pi(k)) / 3.
    const [first = 0, second = 0, third = 0] = VALUES;
    const advantages = [first - (second + third) / 2, second - (first + third) / 2, third - (first + second) / 2];
    const biased = expectedEstimate(scaled, 'loo');
    close(
      biased,
      advantages.map((one) => one / 3),
    );
    assert.ok(Math.max(...biased.map((one, k) => Math.abs(one - (GRADIENT[k] ?? 0)))) > 0.02, 'the bias is there');
    assert.ok(cosine(biased, GRADIENT) < 0.995, `the direction is another: ${cosine(biased, GRADIENT)}`);
  });

  it('taking repeated alternatives out of a group biases it too', () => {
    // Four are sampled; of those that say the same only the first is kept.
    const once = planSequences(4).flatMap(({ chance, plans }) => {
      const kept = [...new Set(plans)];
      return replayed(
        { chance, plans: kept },
        kept.map(() => 1),
      );
    });
    const biased = expectedEstimate(once, 'loo');
    // By hand, over the sets of two and of three plans: (Q(a) - Q(b)) (grad_a - grad_b) times the chance of the set,
    // over 2 or over 2 * 3.
    const both = (a: number, b: number): number => a * b * (4 * a * a + 6 * a * b + 4 * b * b);
    const every = 12 * PLANS.reduce((product, one) => product * one, 1);
    const byHand = PLANS.map((own, k) =>
      PLANS.reduce(
        (sum, other, l) =>
          sum + (l === k ? 0 : ((VALUES[k] ?? 0) - (VALUES[l] ?? 0)) * (both(own, other) / 2 + every / 6)),
        0,
      ),
    );
    close(biased, byHand);
    const error = Math.hypot(...biased.map((one, k) => one - (GRADIENT[k] ?? 0))) / Math.hypot(...GRADIENT);
    assert.ok(error > 0.1, `the bias is there: ${error}`);
    assert.ok(1 - cosine(biased, GRADIENT) > 1e-4, `the direction is another: ${cosine(biased, GRADIENT)}`);
  });

  it('leave-one-out over episodes is not unbiased where an alternative has several, because they share its plan', () => {
    const outcomes = planSequences(2).flatMap((one) => replayed(one, [2, 2]));
    const found = expectedEstimate(outcomes, 'magrpo_rloo');
    // n / (n - 1) of the full mean with n = 4 episodes: (4/3) (1/2).
    close(
      found,
      GRADIENT.map((one) => (one * 2) / 3),
    );
  });
});
