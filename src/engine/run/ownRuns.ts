/** Changes the notes of a user's runs, and deletes runs. */

import { listNamedRuns, noteFault, parseTags, type RunNote } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { removeRunFiles } from '../../training/state/checkpoints.ts';

const PAGE = 200;

/** Applies changes to a run's note. @throws C3Error('input') if the result cannot be stored */
export function applyNoteChanges(before: RunNote, changes: Partial<RunNote>): RunNote {
  const { title, note, tags } = { title: before.title, note: before.note, tags: before.tags, ...changes };
  const changed = { title: title.trim(), note: note.trim(), tags: parseTags(tags.join(',')) };
  const fault = noteFault(changed);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
  return changed;
}

/**
 * Deletes a run: its rows, and its weight files next to the store.
 * @param folder folder of the weights
 * @returns the number of freed bytes
 * @throws C3Error('input') for a run that does not exist, is in progress, or whose weights another
 *   run uses
 */
export async function deleteRun(store: StoreWriter, folder: string, run: string): Promise<number> {
  // Opening the store for writing marks abandoned runs as interrupted, so this run still has a writer.
  if (store.run(run).status === 'running') {
    throw new C3Error('input', `Run ${run} is in progress: cancel it before it is deleted.`);
  }
  const needing = findDependentRun(store, run);
  if (needing !== null) {
    throw new C3Error(
      'input',
      `Run ${needing} begins with weights of run ${run} or is answered by them: delete it first.`,
    );
  }
  const { bytes, weights } = store.deleteRun(run);
  return bytes + (await removeRunFiles(folder, run, weights));
}

function findDependentRun(store: StoreReader, run: string): string | null {
  for (let offset = 0; ; offset += PAGE) {
    const page = store.runs(offset, PAGE);
    const found = page.find(({ id }) => id !== run && listNamedRuns(store.runConfig(id)).includes(run));
    if (found !== undefined || page.length < PAGE) {
      return found?.id ?? null;
    }
  }
}
