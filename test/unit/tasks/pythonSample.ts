/** The first problems of the bundled Python task under a seed. */

import { distinctPythonProblems, type PythonProblem } from '../../../src/tasks/python/python.ts';

/** Every level equally often. */
export const ALL_LEVELS = [1, 1, 1, 1, 1, 1];

export function sample(seed: string, count: number, levels: readonly number[] = ALL_LEVELS): PythonProblem[] {
  const problems: PythonProblem[] = [];
  for (const problem of distinctPythonProblems(seed, levels)) {
    if (problems.push(problem) === count) {
      break;
    }
  }
  return problems;
}
