/** Questions of a task that may come to an end: drawn one after another, each once. */
import { C3Error } from '../shared/errors.ts';
import type { DemonstratedProblem } from './demonstration.ts';

/** So many draws in a row that bring no new question mean that there are no more. */
const MOST_REPEATS = 500;

/**
 * The problems of draws 0, 1, 2, ..., without those whose question came before.
 * @param task its name, for the sentence that there are no more
 * @throws C3Error('input') while it is read, where all questions were drawn
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

/** @throws C3Error('input') for levels that are no mix of a task with so many of them */
export function checkLevels(task: string, levels: readonly number[], count: number): void {
  const valid = levels.length <= count && levels.every((weight) => Number.isFinite(weight) && weight >= 0);
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Levels [${levels.join(', ')}] of ${task} are not valid: give 1 to ${count} weights from 0 up, at least one above 0.`,
    );
  }
}
