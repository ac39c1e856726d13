/** What the tests of editors that come back after a reload share. */
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addRun, addTree, instance, LEDGER, METRICS, RUN } from '../unit/extension/storeFixture.ts';
import type { Workbench } from './harness/workbench.ts';
import { reloadWindow, storeOf } from './team.ts';

/** Stores a run with one problem that was tried twice. */
export function prepare(workbench: Workbench): void {
  const writer = openStoreForWriting(storeOf(workbench.folder));
  addRun(writer);
  writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
  addTree(writer, { iteration: 1, instance: instance(1), returns: [[1, 0]] });
  writer.finishStep(RUN, 1, METRICS, LEDGER);
  writer.updateRunStatus(RUN, 'done', '2026-01-03T00:00:00.000Z', null);
  writer.close();
}

/** The view of the files has the side bar, so that nothing but a tab can wake the extension. */
export async function reloadAtFiles(workbench: Workbench): Promise<void> {
  await workbench.openView('Explorer');
  await reloadWindow(workbench);
}

/** The lines of an editor, by its selector. */
export const lines = async (workbench: Workbench, editor: string): Promise<string> =>
  (await workbench.page.locator(`${editor} .view-lines`).first().innerText()).replaceAll('\u00a0', ' ');
