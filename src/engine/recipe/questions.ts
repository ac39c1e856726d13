/** Questions of a run beside those that its steps take. */
import type { Problem } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import { generateSplit } from '../../tasks/split.ts';
import type { RunConfig } from '../../training/config/config.ts';

interface RunQuestions {
  readonly train: readonly Problem[];
  readonly evaluation: readonly Problem[];
}

/**
 * Questions of a run's bundled task.
 * @param train how many to train on
 * @throws C3Error('input') for more than it has
 */
export const bundledQuestions = ({ task, seed, evaluation }: RunConfig, train: number): RunQuestions =>
  generateSplit({
    task: task.name,
    seed: `run-${seed}`,
    train,
    evaluation: evaluation.instances,
    levels: task.levels,
    roles: task.roles,
  });

/** Questions that a run may train on, as many as asked for where there are; its own come first. */
export function trainingQuestions(
  config: RunConfig,
  { train, evaluation }: RunQuestions,
  most: number,
): readonly Problem[] {
  if (config.task.train_file !== null || train.length >= most) {
    return train.slice(0, most);
  }
  try {
    const held = new Set(evaluation.map(({ uidSha }) => uidSha));
    return bundledQuestions(config, most).train.filter(({ uidSha }) => !held.has(uidSha));
  } catch (error) {
    // The task has fewer.
    if (error instanceof C3Error && error.kind === 'input') {
      return train;
    }
    throw error;
  }
}
