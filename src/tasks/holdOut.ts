/** Splits the questions of one file into training questions and held-out ones. */

import type { Problem } from '../domain/problem.ts';
import { HashedStream } from './hashedStream.ts';
import { questionWords } from './overlap.ts';
import type { Side } from './split.ts';

/**
 * Chooses the side of every problem by the hash of its question and the seed alone. The side does not
 * depend on the order of the file or on its other questions. Questions that differ only in case or
 * whitespace are on the same side, so that no question is on both.
 * @param share of the questions to hold out, between 0 and 1; each is held out with this probability,
 *   so that a file meets the share approximately
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
