/** Draws of a task with a limited number of questions, each question once. */

import { C3Error } from '../shared/errors.ts';
import type { DemonstratedProblem } from './demonstration.ts';

/** Number of draws in a row without a new question after which the questions count as exhausted. */
const MOST_REPEATS = 500;

/**
 * Yields the problems of draws 0, 1, 2, ..., without repeated questions.
 * @param task its name, for the error message
 * @throws C3Error('input') during iteration, if all questions were drawn
 */
export function* drawDistinct(
  task: string,
  levels: readonly number[],
  draw: (index: number) => DemonstratedProblem,
): Generator<DemonstratedProblem, never, undefined> {
  const seen = new Set<string>();
  for (let [index, repeats] = [0, 0]; ; index++) {
    const problem = draw(index);
    repeats = seen.has(problem.uidSha) ? repeats + 1 : 0;
    if (repeats === 0) {
      seen.add(problem.uidSha);
      yield problem;
    } else if (repeats === MOST_REPEATS) {
      throw new C3Error(
        'input',
        `The ${task} task has no more than about ${seen.size} questions of the levels [${levels.join(', ')}]; ask for fewer, or for more levels.`,
      );
    }
  }
}

/** Checks the weights of a task's levels. @throws C3Error('input') for invalid ones */
export function checkLevels(task: string, levels: readonly number[], count: number): void {
  const valid = levels.length <= count && levels.every((weight) => Number.isFinite(weight) && weight >= 0);
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Levels [${levels.join(', ')}] of ${task} are not valid: give 1 to ${count} weights from 0 up, at least one above 0.`,
    );
  }
}
