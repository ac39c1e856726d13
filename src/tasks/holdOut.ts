/** Splits the questions of one file into those that are trained on and those that are held out. */
import type { Problem } from '../domain/problem.ts';
import { HashedStream } from './hashedStream.ts';
import { questionWords } from './overlap.ts';
import type { Side } from './split.ts';

/**
 * The side of every problem by the hash of its question and the seed alone: independent of the order of the file and
 * of its other questions, and the same for questions that differ in case or whitespace only, so that no question is on
 * both sides.
 * @param share of the questions that are held out, between 0 and 1: each with this probability, so a file meets it
 *   about
 * @returns both sides in the order of the file
 */
export function holdOut(problems: readonly Problem[], share: number, seed: number): Readonly<Record<Side, Problem[]>> {
  const sides: Record<Side, Problem[]> = { train: [], evaluation: [] };
  for (const problem of problems) {
    const label = `hold out ${seed}: ${questionWords(problem.question)}`;
    sides[new HashedStream(label).chance(share) ? 'evaluation' : 'train'].push(problem);
  }
  return sides;
}
