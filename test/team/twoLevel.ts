/**
 * The variance of the estimated gradient with leave-one-out and with leave-one-out at two levels, on random teams in a
 * table: the ratio of the two, for the second role and for both. Variances are summed over logits. The weights of the
 * two levels follow from as many earlier trees.
 * Usage: node test/team/twoLevel.ts [trees] [teams]
 */

import { openStream, uniform } from '../../src/credit/counter.ts';
import { studentInterval } from '../../src/credit/interval.ts';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { c3 } from '../../src/training/methods/c3.ts';
import { makeChainProtocol, outcomes, sample, type TabularTeam } from '../support/tabularTeam.ts';

const ACTIONS = 4;

/** Adds a score of the plan, which counts `weight` times as much, and one of the answer after it. */
function teamOf(seed: number, weight: number): TabularTeam {
  const numbers = openStream(seed, 2);
  let place = 0;
  const draw = (factor: number): number => factor * (uniform(numbers, place++) - 0.5);
  const list = (factor: number): number[] => Array.from({ length: ACTIONS }, () => draw(factor));
  const plans = list(weight);
  const answers = plans.map(() => list(1));
  const logits = [[list(0.5)], plans.map(() => list(0.5))];
  const raw = ([plan = 0, answer = 0]: readonly number[]): number =>
    (plans[plan] ?? 0) + (answers[plan]?.[answer] ?? 0);
  const all = outcomes({ logits }).map(({ actions }) => raw(actions));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return { protocol: makeChainProtocol(2), logits, score: (actions) => (raw(actions) - low) / (high - low) };
}

type Config = ReturnType<typeof readConfig>;

/** The variance of the gradient of each role over trees, summed over its logits. */
async function gradientVariance(team: TabularTeam, config: Config, trees: number): Promise<number[]> {
  let state = c3.state?.(config)?.initial(config);
  const sums = new Map<string, { readonly role: number; sum: number; squares: number }>();
  for (let iteration = 1; iteration <= 2 * trees; iteration++) {
    const found = await sample(team, config, { seed: 1, iteration, count: 1, spread: null, state });
    state = found.state;
    if (iteration <= trees) {
      continue;
    }
    for (const [role, states] of found.gradient.entries()) {
      for (const [place, value] of states.flat().entries()) {
        const own = sums.get(`${role} ${place}`) ?? { role, sum: 0, squares: 0 };
        sums.set(`${role} ${place}`, { role, sum: own.sum + value, squares: own.squares + value ** 2 });
      }
    }
  }
  return [0, 1].map((role) =>
    [...sums.values()]
      .filter((one) => one.role === role)
      .reduce((total, { sum, squares }) => total + squares / trees - (sum / trees) ** 2, 0),
  );
}

const shown = (values: readonly number[]): string => {
  const { value, low, high } = studentInterval(values) ?? { value: NaN, low: null, high: null };
  return `${value.toFixed(3)} [${(low ?? NaN).toFixed(3)}, ${(high ?? NaN).toFixed(3)}]`;
};

const [trees = 200, teams = 12] = process.argv.slice(2).map(Number);
for (const weight of [0, 0.5, 1, 3]) {
  for (const merged of [true, false]) {
    const ratios: number[][] = [];
    for (let seed = 0; seed < teams; seed++) {
      const [one = [], two = []] = await Promise.all(
        ['loo', 'loo_two_level'].map((estimator) =>
          gradientVariance(
            teamOf(seed, weight),
            readConfig('', 'two levels', [
              'fanout=[2,4]',
              `credit.merge_contexts=${String(merged)}`,
              `credit.estimator=${estimator}`,
            ]),
            trees,
          ),
        ),
      );
      const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
      ratios.push([(two[1] ?? NaN) / (one[1] ?? NaN), total(two) / total(one)]);
    }
    const columns = [0, 1].map((column) => shown(ratios.map((row) => row[column] ?? NaN)));
    console.log(`| ${weight} | ${merged ? 'on' : 'off'} | ${columns.join(' | ')} |`);
  }
}
