/** Reads the task of a run from its configuration. Only runs of the same task can be compared. */

import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { readSection, parseStoredRecipe } from '../../domain/run.ts';
import type { RunTask } from '../../shared/protocols/dashboardProtocol.ts';

/** Maximum length of a label, in characters. */
const LABEL = 80;
const UNKNOWN: RunTask = { key: 'unknown', label: 'unknown task' };

/**
 * Returns the task of a run. The seed is not part of it: another seed draws questions of the same
 * kind.
 * @param configuration the run's recipe as the store holds it
 * @returns `unknown task` if the recipe names no task
 */
export function readRunTask(configuration: string): RunTask {
  const recipe = parseStoredRecipe(configuration);
  const config = readSection(recipe, 'config');
  const task = readSection(config, 'task');
  const evaluator = nonEmptyText(config['evaluator']) ?? 'auto';
  const scored = evaluator === 'auto' ? '' : `, ${evaluator}`;
  const file = nonEmptyText(task['evaluation_file']) ?? nonEmptyText(task['train_file']);
  if (file !== undefined) {
    const identity = [recipe['folder'], file, task['format'], task['show_tests'], evaluator];
    return { key: hashIdentity(identity), label: `${basename(file)}${scored}`.slice(0, LABEL) };
  }
  const name = nonEmptyText(task['name']);
  if (name === undefined) {
    return UNKNOWN;
  }
  const levels = Array.isArray(task['levels']) ? task['levels'].map(String) : [];
  const mixed = levels.length > 0 && levels.join() !== '1,1,1,1' ? `, levels ${levels.join(' ')}` : '';
  return { key: hashIdentity([name, levels, evaluator]), label: `${name}${mixed}${scored}`.slice(0, LABEL) };
}

const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const hashIdentity = (identity: unknown): string =>
  createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
