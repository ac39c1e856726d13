/** A small run with a message that is hostile, and its report. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { FrameLocator } from 'playwright-core';
import { reportPage, runReport } from '../../src/report/report.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addRequest, addRun, addTree, problem, LEDGER, METRICS, RUN } from '../unit/extension/storeFixture.ts';
import { eventually, type Theme, type Workbench } from './harness/workbench.ts';
import { saveAs } from './saveReport.ts';
import { assertQuiet, reading, storeOf, unfold } from './team.ts';

const HOSTILE = '<script>document.title = 1</script> [x](command:c3.startRun) \u202e';

let plan = 0;

/**
 * Makes the run in the store of a window, once.
 * @returns its first plan
 */
export function fillReported(workbench: Workbench): number {
  if (plan !== 0) {
    return plan;
  }
  const writer = openStoreForWriting(storeOf(workbench.folder));
  addRun(writer);
  for (const [index, meanReturn] of [0.25, 0.5, 0.75].entries()) {
    writer.insertStep({
      run: RUN,
      iteration: index + 1,
      snapshot: 'a'.repeat(64),
      ledger: { ...LEDGER, evaluatorCalls: 8 * (index + 1) },
    });
    writer.finishStep(RUN, index + 1, { ...METRICS, meanReturn }, { ...LEDGER, evaluatorCalls: 8 * (index + 1) });
  }
  const [tree] = addTree(writer, {
    iteration: 1,
    problem: problem(1),
    returns: [
      [1, 0],
      [0, 0],
    ],
    words: (at, actor) => (actor === null ? `plan ${at} ${HOSTILE}` : `answer ${at}.${actor}`),
  });
  addRequest(writer, tree?.actors[0] ?? 0, ['another answer'], [1]);
  writer.close();
  plan = tree?.plan ?? 0;
  return plan;
}

/**
 * Exports the run from its context menu as a page, which the editor then shows.
 * @param themes in which it is looked at, too
 */
export async function exportRun(workbench: Workbench, themes: readonly Theme[]): Promise<void> {
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, `Run ${RUN}`).click({ button: 'right' });
  await workbench.chooseFromMenu('Export report');
  const path = await saveAs(workbench, `run-${RUN}.html`, 'run.html');
  assert.equal(
    readFileSync(path, 'utf8'),
    reading(workbench, (store) => reportPage(runReport(store, RUN))),
  );
  await workbench.answerNotification('The report was saved as run.html', 'Open');
  const shown = await workbench.webview('Report run.html');
  await shown.getByRole('heading', { name: `Run ${RUN}` }).waitFor();
  await shown.getByRole('img', { name: 'Learning curve' }).waitFor();
  const seeGround = async (): Promise<void> => {
    const ground = await workbench.page
      .locator('.monaco-workbench')
      .evaluate((element) => getComputedStyle(element).getPropertyValue('--vscode-editor-background'));
    await eventually(
      'the page in the colours of the theme',
      async () =>
        (await shown.locator('body').evaluate((body) => getComputedStyle(body).getPropertyValue('--ground'))).trim() ===
        ground.trim(),
    );
  };
  await seeGround();
  await workbench.screenshot('report-run');
  for (const theme of themes) {
    await workbench.screenshot('report-run', theme);
    await seeGround();
  }
  assertQuiet(workbench);
}

/** The transcript of its problem. */
export async function openReported(workbench: Workbench): Promise<FrameLocator> {
  fillReported(workbench);
  const view = await workbench.openView('C3');
  await unfold(workbench.treeItem(view, `Run ${RUN}`));
  await unfold(workbench.treeItem(view, 'Step 1'));
  await workbench.treeItem(view, 'Question 1').click();
  const transcript = await workbench.webview(/^Question 1/u);
  // Keys are about rows, which come after the page.
  await transcript.locator('[role="treeitem"][aria-selected="true"]').waitFor();
  return transcript;
}

export async function clipboard(workbench: Workbench): Promise<string> {
  await workbench.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  return workbench.page.evaluate(() => navigator.clipboard.readText());
}

/**
 * Opens an address as the editor opens one that comes from outside: through its own handler, with its question whether
 * the extension may.
 */
export async function openLink(workbench: Workbench, link: string): Promise<void> {
  await workbench.runCommandAndAnswer('Developer: Open URL', link);
  await workbench.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Open', exact: true }).click();
}
