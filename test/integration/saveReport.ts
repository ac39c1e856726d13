/** Saving a report by the editor's own dialog. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, type Workbench } from './harness/workbench.ts';
import { answerPath } from './pathDialog.ts';

/** @returns the path of the written report */
export async function saveAs(workbench: Workbench, proposed: string, name: string): Promise<string> {
  const path = join(workbench.folder, name);
  await answerPath(workbench, 'Export report', 'OK', path, join(workbench.folder, proposed));
  await eventually(`${name} to be written`, () => existsSync(path) && readFileSync(path, 'utf8').length > 0);
  // A file that is there may still be half written.
  await workbench.notification(`The report was saved as ${name}`).waitFor();
  return path;
}
