/**
 * What the bundled team of the Python task must show before reinforcement, measured in the real sandbox on held-out
 * problems and printed: greedy accuracy, accuracy with the plan emptied, with the right plan and with a slip in it, and
 * how often the eight leaves of one problem differ in outcome. Usage: node test/team/measurePython.ts [model folder]
 * [problems] [weights file] [levels, such as 1,1,1,1]
 */

import { availableParallelism } from 'node:os';
import { newcombeInterval, wilsonInterval } from '../../src/credit/interval.ts';
import type { Interval } from '../../src/domain/credit.ts';
import type { Problem } from '../../src/domain/problem.ts';
import { findBundledTeam, SANDBOX_PLACES } from '../../src/engine/places.ts';
import { extractCode } from '../../src/evaluate/python/code.ts';
import { PythonGrader } from '../../src/evaluate/python/grader.ts';
import type { DemonstratedProblem } from '../../src/tasks/demonstration.ts';
import { generateSplit } from '../../src/tasks/split.ts';
import { describeInterval } from './measure.ts';
import { withTeam, type Speak } from './speak.ts';

const PLANS = 2;
const SOLUTIONS = 4;

interface Spoken {
  readonly problem: Problem;
  readonly plan: string;
  readonly code: string;
}

export interface PythonTeamReport {
  readonly greedy: Interval | null;
  readonly greedyByLevel: ReadonlyMap<number, Interval | null>;
  readonly emptied: Interval | null;
  readonly loss: Interval | null;
  /**
   * The coder's greedy accuracy given a right plan, and given that plan with a slip; on the problems whose hasty
   * demonstration has one.
   */
  readonly rightPlan: Interval | null;
  readonly wrongPlan: Interval | null;
  readonly sampled: Interval | null;
  /** Share of problems whose eight leaves do not all have the same outcome. */
  readonly mixed: Interval | null;
  /**
   * Share of problems whose two plans differ in the mean of their four leaves, and of plans whose four leaves differ.
   */
  readonly plansDiffer: Interval | null;
  readonly solutionsDiffer: Interval | null;
  readonly masked: number;
}

/** Measures a team folder on `count` held-out problems under a mix of levels. */
export async function measurePythonTeam(
  folder: string,
  count: number,
  weights?: string,
  levels?: readonly number[],
): Promise<PythonTeamReport> {
  const problems = generateSplit({
    task: 'python',
    seed: 'python-team-report',
    train: 0,
    evaluation: count,
    ...(levels === undefined ? {} : { levels }),
  }).evaluation;
  const { greedy, emptied, right, wrong, leaves } = await withTeam('python', folder, weights, (speak) =>
    speakAll(speak, problems),
  );
  const grader = new PythonGrader({ places: SANDBOX_PLACES, lanes: availableParallelism() });
  let masked = 0;
  const grade = ({ problem, code }: Spoken): Promise<number> => {
    const { tests } = problem;
    if (tests === undefined) {
      throw new Error(`${problem.uid} has no tests.`);
    }
    return grader.grade(tests.prefix + extractCode(code), tests, problem.uidSha).then(({ score }) => {
      if (score === null) {
        masked++;
      }
      return score ?? 0;
    });
  };
  try {
    const gradeAll = (spoken: readonly Spoken[]): Promise<number[]> => Promise.all(spoken.map(grade));
    const greedyScores = await gradeAll(greedy);
    const emptiedScores = await gradeAll(emptied);
    const leafScores = await gradeAll(leaves);
    const plans = chunks(leafScores, SOLUTIONS);
    const groups = chunks(leafScores, PLANS * SOLUTIONS);
    const present = [...new Set(problems.map(({ level }) => level ?? 0))].sort((a, b) => a - b);
    return {
      greedy: share(greedyScores),
      greedyByLevel: new Map(
        present.map((level) => [level, share(greedyScores.filter((_, index) => problems[index]?.level === level))]),
      ),
      emptied: share(emptiedScores),
      loss: newcombeInterval(sum(greedyScores), count, sum(emptiedScores), count),
      rightPlan: share(await gradeAll(right)),
      wrongPlan: share(await gradeAll(wrong)),
      sampled: share(leafScores),
      mixed: share(groups.map(differ)),
      plansDiffer: share(chunks(plans.map(sum), PLANS).map(differ)),
      solutionsDiffer: share(plans.map(differ)),
      masked,
    };
  } finally {
    grader.close();
  }
}

/**
 * Greedy episodes, greedy solutions of other plans, and eight sampled leaves a problem: two plans with four solutions
 * each.
 */
async function speakAll(
  speak: Speak,
  problems: readonly DemonstratedProblem[],
): Promise<Record<'greedy' | 'emptied' | 'right' | 'wrong' | 'leaves', Spoken[]>> {
  const solve = async (
    planned: readonly Omit<Spoken, 'code'>[],
    temperature: number,
    sibling: (index: number) => number,
  ): Promise<Spoken[]> => {
    const codes = await speak(
      1,
      planned.map(({ problem, plan }, index) => ({ problem, plan, sibling: sibling(index) })),
      temperature,
    );
    return planned.map((one, index) => ({ ...one, code: codes[index] ?? '' }));
  };
  const plans = await speak(
    0,
    problems.map((problem) => ({ problem, plan: '', sibling: 0 })),
    0,
  );
  const greedy = await solve(
    problems.map((problem, index) => ({ problem, plan: plans[index] ?? '' })),
    0,
    () => 0,
  );
  const emptied = await solve(
    problems.map((problem) => ({ problem, plan: '' })),
    0,
    () => 0,
  );
  const slipped = problems.filter(({ said: [plan], saidInHaste: [hasty] }) => hasty !== plan);
  const right = await solve(
    slipped.map((problem) => ({ problem, plan: problem.said[0] ?? '' })),
    0,
    () => 0,
  );
  const wrong = await solve(
    slipped.map((problem) => ({ problem, plan: problem.saidInHaste[0] ?? '' })),
    0,
    () => 0,
  );
  const twice = problems.flatMap((problem) =>
    Array.from({ length: PLANS }, (_, sibling) => ({ problem, plan: '', sibling })),
  );
  const sampled = await speak(0, twice, 1);
  const branches = twice.flatMap(({ problem }, index) =>
    Array.from({ length: SOLUTIONS }, () => ({ problem, plan: sampled[index] ?? '' })),
  );
  return { greedy, emptied, right, wrong, leaves: await solve(branches, 1, (index) => index % (PLANS * SOLUTIONS)) };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const share = (values: readonly number[]): Interval | null => wilsonInterval(sum(values), values.length);
const differ = (values: readonly number[]): number => (new Set(values).size > 1 ? 1 : 0);
const chunks = (values: readonly number[], size: number): number[][] =>
  Array.from({ length: values.length / size }, (_, index) => values.slice(index * size, (index + 1) * size));

if (import.meta.main) {
  const [folder = findBundledTeam('python'), count = '512', weights = '', levels] = process.argv.slice(2);
  const report = await measurePythonTeam(
    folder,
    Number(count),
    weights === '' ? undefined : weights,
    levels?.split(',').map(Number),
  );
  console.log(`greedy accuracy          ${describeInterval(report.greedy)}   (required: 25 to 60 %)`);
  for (const [level, interval] of report.greedyByLevel) {
    console.log(`  level ${level}                ${describeInterval(interval)}`);
  }
  console.log(`greedy, plan emptied     ${describeInterval(report.emptied)}`);
  console.log(`lost without the plan    ${describeInterval(report.loss)}   (required: clearly above 0)`);
  console.log(`coder, right plan        ${describeInterval(report.rightPlan)}`);
  console.log(`coder, plan with a slip  ${describeInterval(report.wrongPlan)}`);
  console.log(`sampled accuracy         ${describeInterval(report.sampled)}`);
  console.log(`eight leaves differ      ${describeInterval(report.mixed)}   (required: above 25 %)`);
  console.log(`two plans differ         ${describeInterval(report.plansDiffer)}`);
  console.log(`four solutions differ    ${describeInterval(report.solutionsDiffer)}`);
  console.log(`masked verdicts          ${report.masked}`);
}
