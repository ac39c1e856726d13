/** The questions of a file that a run trains and evaluates on, where slices of the file say which. */
import type { Problem } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import { sliceBounds } from '../../shared/text/slice.ts';

/**
 * The questions in a slice of a file.
 * @param slice such as `test[16:]`
 * @param key that says so, for messages
 * @throws C3Error('input') where it is no slice, or holds none of the questions
 */
export function sliced(all: readonly Problem[], slice: string, key: string): Problem[] {
  const bounds = sliceBounds(slice, all.length);
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
 * Both sides of one file.
 * @param slices of each side; null trains on what is not evaluated
 * @throws C3Error('input') where a side would be empty
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
