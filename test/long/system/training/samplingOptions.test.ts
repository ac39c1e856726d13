/**
 * Every option of sampling and credit on teams in a table: the gradient's estimate is unbiased, and varies as theory
 * says.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RunConfig } from '../../../../src/training/config/config.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { makeChainProtocol, exactGradient, sample, type TabularTeam } from '../../../support/tabularTeam.ts';

const config = (...overrides: readonly string[]): RunConfig => readConfig('', 'options', overrides);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
/** Mean, and its standard error. */
function estimated(values: readonly number[]): readonly [number, number] {
  const centre = mean(values);
  return [centre, Math.sqrt(mean(values.map((value) => (value - centre) ** 2)) / (values.length - 1))];
}

/** Three roles with three actions each, which repeat themselves often. */
const TEAM: TabularTeam = {
  protocol: makeChainProtocol(3),
  logits: [
    [[0.9, 0, -0.4]],
    [
      [0.2, -0.3, 0.8],
      [1, 0.1, -0.6],
      [0, 0.5, -0.2],
    ],
    [
      [-0.5, 0.7, 0],
      [0.4, -0.1, 0.3],
      [0.6, -0.8, 0.2],
    ],
  ],
  score: ([first = 0, second = 0, third = 0]) => ((first * 5 + second * 3 + third * 7 + first * third * 4) % 11) / 10,
};

/** An option of sampling and credit. */
interface GradientOption {
  readonly overrides: readonly string[];
  /** What the estimate is of the gradient; 1 where it is left out. */
  readonly factor?: number;
}

const GRADIENT_OPTIONS: readonly GradientOption[] = [
  { overrides: ['fanout=[2,2,2]'] },
  { overrides: ['fanout=[2,2,2]', 'credit.merge_contexts=false'] },
  { overrides: ['fanout=[2,2,2]', 'credit.common_random_numbers=true'] },
  { overrides: ['fanout=[2,2,2]', 'credit.common_random_numbers=true', 'credit.merge_contexts=false'] },
  { overrides: ['fanout=[2,1,4]'] },
  { overrides: ['fanout=[2,1,4]', 'fanout_unique=true'] },
  { overrides: ['fanout=[2,1,3]', 'fanout_unique=true'] },
  { overrides: ['fanout=[8,1,1]'] },
  { overrides: ['shape=spine'] },
  { overrides: ['shape=spine', 'credit.lone_messages=none'] },
  { overrides: ['shape=spine', 'credit.merge_contexts=false'] },
  { overrides: ['shape=spine_rho'] },
  { overrides: ['method=magrpo'], factor: 7 / 8 },
];

/** Whether the estimate is that of the expected return, for each option. */
describe('the estimated gradient of three roles', () => {
  const exact = exactGradient(TEAM).flat(2);
  const SAMPLES = 150;
  const INSTANCES = 8;

  for (const { overrides, factor = 1 } of GRADIENT_OPTIONS) {
    it(`is that of the expected return: ${overrides.join(', ')}`, async () => {
      const settings = config(...overrides);
      const found: number[][] = [];
      for (let seed = 0; seed < SAMPLES; seed++) {
        // What decides a split is what another step showed.
        const spread = overrides.join() === 'shape=spine_rho' ? [0.12, 0.06 + 0.0005 * seed, 0.02] : null;
        const { gradient } = await sample(TEAM, settings, { seed, iteration: 1, count: INSTANCES, spread });
        found.push(gradient.flat(2));
      }
      for (const [place, value] of exact.entries()) {
        const [centre, error] = estimated(found.map((one) => one[place] ?? NaN));
        assert.ok(error < 0.01, `[${place}] is known to ${error}`);
        // 4.5 standard errors: 1 in 150,000.
        assert.ok(
          Math.abs(centre - factor * value) < 4.5 * error,
          `[${place}]: ${centre} +- ${error} is not ${factor * value}`,
        );
      }
    });
  }

  it('is 0 for the roles that come after, where messages without alternatives have no credit', async () => {
    const settings = config('fanout=[8,1,1]', 'credit.lone_messages=none');
    const { gradient } = await sample(TEAM, settings, { seed: 0, iteration: 1, count: INSTANCES, spread: null });
    const [, ...after] = gradient;
    assert.ok(after.flat(2).every((value) => value === 0));
    const [, ...wanted] = exactGradient(TEAM);
    assert.ok(Math.max(...wanted.flat(2)) > 0.005, String(Math.max(...wanted.flat(2))));
  });
});

/**
 * Each role draws two bits at even chances, and the first bits are scored. Along the second bit the gradient is 0 and
 * its noise does not depend on the returns, so that its variance is exactly the formula's.
 */
const WORTH = [0.6, 0.3] as const;
const TEAM_OF_BITS: TabularTeam = {
  protocol: makeChainProtocol(2),
  logits: [[[0, 0, 0, 0]], Array.from({ length: 4 }, () => [0, 0, 0, 0])],
  score: (actions) => actions.reduce((sum, action, role) => sum + (action < 2 ? 0 : (WORTH[role] ?? 0)), 0),
};
const [first, second] = WORTH.map((worth) => worth ** 2 / 4) as [number, number];
const rho = first / second;
/** Of the second bit, at a logit of a half either way. */
const SCORE = 1 / 4;
const along = (states: readonly (readonly number[])[]): number =>
  states.reduce(
    (sum, actions) => sum + actions.reduce((own, value, action) => own + value * (action % 2 === 0 ? 0.5 : -0.5), 0),
    0,
  );

// Of alternatives to the first message of a spine with 5 and 4 messages, the first of which has 4 leaves.
const others = first + second + (16 * (first + second / 4) + 3 * (first + second)) / 7 ** 2;
const itself = first + second / 4 + (first + second) / 4;
const RULES: readonly (readonly [readonly string[], readonly [number, number]])[] = [
  [['method=magrpo'], [(7 / 64) * (first + second), (7 / 64) * (first + second)]],
  [['credit.merge_contexts=false'], [first + second / 4, second / 6]],
  [
    ['fanout=[4,2]', 'credit.merge_contexts=false'],
    [(first + second / 2) / 3, second / 4],
  ],
  [
    ['fanout=[8,1]', 'credit.merge_contexts=false'],
    [(first + second) / 7, (first + second) / 7],
  ],
  [
    ['shape=spine', 'credit.lone_messages=none', 'credit.merge_contexts=false'],
    [(itself + 4 * others) / 25, second / 3],
  ],
  [
    ['shape=spine', 'credit.merge_contexts=false'],
    [(itself + 4 * others) / 25, ((16 / 3) * second + 4 * others) / 64],
  ],
];
const measured = async (overrides: readonly string[]): Promise<readonly (readonly [number, number])[]> => {
  const settings = config(...overrides);
  const squares: number[][] = [[], []];
  for (let seed = 0; seed < 1500; seed++) {
    const { gradient } = await sample(TEAM_OF_BITS, settings, { seed, iteration: 1, count: 1, spread: null });
    for (const [role, states] of gradient.entries()) {
      squares[role]?.push(along(states) ** 2);
    }
  }
  return squares.map(estimated);
};

describe('the variance of the estimated gradient', () => {
  for (const [overrides, expected] of RULES) {
    it(`is what theory says: ${overrides.join(', ')}`, async () => {
      const found = await measured(overrides);
      for (const [role, [variance, error]] of found.entries()) {
        const theory = SCORE * (expected[role] ?? NaN);
        assert.ok(error < 0.06 * theory, `role ${role} is known to ${error}`);
        assert.ok(Math.abs(variance - theory) < 4 * error, `role ${role}: ${variance} +- ${error} is not ${theory}`);
      }
    });
  }

  it('of nested trees over that of whole episodes is 7 (rho + 1/4) / (1 + rho) and (7 / 6) / (1 + rho)', () => {
    const [, [plan, answer]] = RULES[1] ?? assert.fail();
    const [, [episodes]] = RULES[3] ?? assert.fail();
    assert.ok(Math.abs(plan / episodes - (7 * (rho + 1 / 4)) / (1 + rho)) < 1e-12);
    assert.ok(Math.abs(answer / episodes - 7 / 6 / (1 + rho)) < 1e-12);
  });
});

it('the variance is less where equal contexts are merged, of the answers, and no more of the plans', async () => {
  const [apart, merged] = [await measured(['credit.merge_contexts=false']), await measured([])];
  const [plansApart, answersApart] = apart.map(([variance]) => variance);
  const [plans = NaN, answers = NaN] = merged.map(([variance]) => variance);
  const [, error = NaN] = merged.map((one) => one[1]);
  // A quarter of the trees has equal plans: there all 8 answers are compared, 1 / 7 in the place of 1 / 6.
  const theory = SCORE * second * (3 / 4 / 6 + 1 / 4 / 7);
  assert.ok(Math.abs(answers - theory) < 4 * error, `${answers} is not ${theory}`);
  assert.ok(answers < (answersApart ?? NaN));
  assert.ok(plans <= (plansApart ?? NaN) + 1e-12, 'of plans');
});
