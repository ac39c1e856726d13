/** Saving a report by the editor's own dialog. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { eventually, type Workbench } from './harness/workbench.ts';

/** The field of the dialog that asks where to save, once it proposes a file of this name. */
export async function saveField(workbench: Workbench, proposed: string): Promise<Locator> {
  const field = workbench.page
    .locator('.quick-input-widget:visible')
    .filter({ hasText: 'Export report' })
    .locator('input.input');
  await eventually(
    `${proposed} to be proposed`,
    async () => (await field.inputValue()) === join(workbench.folder, proposed),
  );
  return field;
}

/** @returns the path of the written report */
export async function saveAs(workbench: Workbench, proposed: string, name: string): Promise<string> {
  const path = join(workbench.folder, name);
  const field = await saveField(workbench, proposed);
  await field.fill(path);
  // The dialog looks at the path before it takes it.
  await eventually(`${name} to be written`, async () => {
    if (existsSync(path) && readFileSync(path, 'utf8').length > 0) {
      return true;
    }
    if (await field.isVisible()) {
      await field.press('Enter', { timeout: 1_000 });
    }
    return false;
  });
  // A file that is there may still be half written.
  await workbench.notification(`The report was saved as ${name}`).waitFor();
  return path;
}
