/** The editor's dialogs for a file or a folder, which the browser edition draws as a list below a field. */

import type { Locator } from 'playwright-core';
import { eventually, type Workbench } from './harness/workbench.ts';

/**
 * Waits until a dialog shows a path that starts with this one.
 * @returns its field
 */
export async function pathField(workbench: Workbench, title: string, proposed = workbench.folder): Promise<Locator> {
  const field = dialogOf(workbench, title).locator('input.input');
  await eventually(`"${title}" to show ${proposed}`, async () => (await field.inputValue()).startsWith(proposed));
  return field;
}

/**
 * Types a path and clicks the button until the dialog has closed. Both are repeated: a dialog writes
 * its folder into the field once it has listed it, over what was typed before. Enter would not do,
 * because a question that follows takes it too.
 */
export async function answerPath(
  workbench: Workbench,
  title: string,
  button: string,
  path: string,
  proposed?: string,
): Promise<void> {
  const field = await pathField(workbench, title, proposed);
  const accept = dialogOf(workbench, title).getByRole('button', { name: button, exact: true });
  await accept.waitFor();
  await eventually(`"${title}" to take ${path}`, async () => {
    if (!(await accept.isVisible())) {
      return true;
    }
    const typed = await field.inputValue();
    await (typed === path ? accept.click({ timeout: 1_000 }) : field.fill(path, { timeout: 1_000 })).catch(
      () => undefined,
    );
    return false;
  });
}

function dialogOf(workbench: Workbench, title: string): Locator {
  return workbench.page.locator('.quick-input-widget:visible').filter({ hasText: title });
}
