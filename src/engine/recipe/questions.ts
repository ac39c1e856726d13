/** Generates questions for a run besides those of its steps. */

import type { Problem } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import { generateSplit } from '../../tasks/split.ts';
import type { RunConfig } from '../../training/config/config.ts';

interface RunQuestions {
  readonly train: readonly Problem[];
  readonly evaluation: readonly Problem[];
}

/**
 * Generates questions of a run's bundled task.
 * @param train number of training questions
 * @throws C3Error('input') if the task has fewer
 */
export const generateBundledQuestions = ({ task, seed, evaluation }: RunConfig, train: number): RunQuestions =>
  generateSplit({
    task: task.name,
    seed: `run-${seed}`,
    train,
    evaluation: evaluation.instances,
    levels: task.levels,
    roles: task.roles,
  });

/** Returns up to `most` questions that a run may train on; its own come first. */
export function listTrainingQuestions(
  config: RunConfig,
  { train, evaluation }: RunQuestions,
  most: number,
): readonly Problem[] {
  if (config.task.train_file !== null || train.length >= most) {
    return train.slice(0, most);
  }
  try {
    const held = new Set(evaluation.map(({ uidSha }) => uidSha));
    return generateBundledQuestions(config, most).train.filter(({ uidSha }) => !held.has(uidSha));
  } catch (error) {
    // The task has fewer questions.
    if (error instanceof C3Error && error.kind === 'input') {
      return train;
    }
    throw error;
  }
}
