/**
 * What the team of the hints task does with the thinker and without it (its text left out), by the kind of the hint, on
 * held-out problems: the thinker-emptied experiment of CCPO (reference sections 5 and 10). Printed as JSON with 95 %
 * intervals.
 * Usage: node test/team/measureHints.ts [model folder] [problems] [weights file]
 */

import { newcombeInterval, wilsonInterval } from '../../src/credit/interval.ts';
import { findBundledTeam } from '../../src/engine/places.ts';
import { answerEvaluator } from '../../src/evaluate/evaluator.ts';
import { generateSplit } from '../../src/tasks/split.ts';
import { withTeam } from './speak.ts';

const KINDS = ['helps', 'redundant', 'misleads'] as const;

const [folder = findBundledTeam('hints'), count = '300', weights] = process.argv.slice(2);
const problems = generateSplit({ task: 'hints', seed: 'team-report', train: 0, evaluation: Number(count) }).evaluation;

await withTeam('hints', folder, weights, async (speak) => {
  for (const temperature of [0, 1]) {
    const bare = problems.map((problem) => ({ problem, plan: '', sibling: 0 }));
    const plans = await speak(0, bare, temperature);
    const scores = async (asked: typeof bare): Promise<number[]> => {
      const answers = await speak(1, asked, temperature);
      return Promise.all(
        answers.map(async (text, index) => {
          const { problem } = asked[index] ?? { problem: undefined };
          return problem === undefined ? NaN : ((await answerEvaluator.evaluate(problem, text)).score ?? NaN);
        }),
      );
    };
    const team = await scores(bare.map((one, index) => ({ ...one, plan: plans[index] ?? '' })));
    const alone = await scores(bare);
    for (const [place, kind] of KINDS.entries()) {
      const of = (all: readonly number[]): number[] => all.filter((_, index) => problems[index]?.level === place + 1);
      const right = (all: readonly number[]): number => of(all).filter((score) => score === 1).length;
      const n = of(team).length;
      console.log(
        JSON.stringify({
          hint: kind,
          sampled: temperature > 0,
          team: wilsonInterval(right(team), n),
          thinkerEmptied: wilsonInterval(right(alone), n),
          difference: newcombeInterval(right(team), n, right(alone), n),
        }),
      );
    }
  }
});
