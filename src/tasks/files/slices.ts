/** The questions of a file for training and evaluation, selected by slices of the file. */

import type { Problem } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import { parseSlice } from '../../shared/text/slice.ts';

/**
 * Returns the questions in a slice of a file.
 * @param slice such as `test[16:]`
 * @param key of the setting, for messages
 * @throws C3Error('input') if it is not a slice, or contains no questions
 */
export function sliced(all: readonly Problem[], slice: string, key: string): Problem[] {
  const bounds = parseSlice(slice, all.length);
  if (bounds === null) {
    throw new C3Error('input', `${key}: ${slice} is no slice; write it as train[:16] or test[16:].`);
  }
  const { from, to } = bounds;
  if (from === to) {
    throw new C3Error(
      'input',
      `${key}: ${slice} holds none of the ${all.length} questions of the file; choose a slice within them.`,
    );
  }
  return all.slice(from, to);
}

/**
 * Returns both sides of one file.
 * @param slices of each side; null trains on everything that is not evaluated
 * @throws C3Error('input') if a side would be empty
 */
export function slicedSides(
  all: readonly Problem[],
  slices: { readonly train: string | null; readonly evaluation: string },
): Readonly<Record<'train' | 'evaluation', Problem[]>> {
  const evaluation = sliced(all, slices.evaluation, 'task.evaluation_split');
  const held = new Set(evaluation);
  const train =
    slices.train === null ? all.filter((one) => !held.has(one)) : sliced(all, slices.train, 'task.train_split');
  if (train.length === 0) {
    throw new C3Error(
      'input',
      `task.evaluation_split: ${slices.evaluation} leaves none of the ${all.length} questions to train on; choose fewer, or give task.train_split.`,
    );
  }
  return { train, evaluation };
}
