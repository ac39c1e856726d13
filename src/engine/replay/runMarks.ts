/** Reads the class of each problem of a run, and the user's labels of its messages. */

import { findCurrentLabel } from '../../domain/taxonomy.ts';
import type { StoreReader } from '../../store/types.ts';
import { readRunProtocol } from '../recipe/recipe.ts';
import { readProblemClasses } from '../taxonomy/readClasses.ts';
import type { RunMarks } from './divideLosses.ts';

/** Reads the classes of a run's problems and the newest label of each of its messages. */
export async function readMarks(store: StoreReader, run: string): Promise<RunMarks> {
  const labels = new Map<number, string>();
  for (const name of store.labelNames(run)) {
    for (const message of store.labelledMessages(run, name)) {
      // A message may be labeled in several buckets.
      const own = store.labelsOfMessage(message);
      const newest = own.length === 0 ? name : findCurrentLabel(own)?.name;
      if (newest !== undefined) {
        labels.set(message, newest);
      }
    }
  }
  return { classes: await readProblemClasses(store, run, readRunProtocol(store, run)), labels };
}
