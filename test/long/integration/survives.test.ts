/**
 * What is open in the editor comes back after a reload, from what its tab keeps and the store alone: a report, a
 * comparison and a model input, each in front when the window is loaded, so that it alone wakes the extension.
 */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { reportPage, runReport } from '../../../src/report/report.ts';
import { openStoreForWriting } from '../../../src/store/write/writer.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { saveAs } from '../../integration/saveReport.ts';
import { assertQuiet, reading, reloadWindow, storeOf, unfold } from '../../integration/team.ts';
import { addRun, addTree, problem, LEDGER, METRICS, RUN } from '../../unit/extension/storeFixture.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

/** Stores a run with one problem that was tried twice. */
function prepare(workbench: Workbench): void {
  const writer = openStoreForWriting(storeOf(workbench.folder));
  addRun(writer);
  writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
  addTree(writer, { iteration: 1, problem: problem(1), returns: [[1, 0]] });
  writer.finishStep(RUN, 1, METRICS, LEDGER);
  writer.updateRunStatus(RUN, 'done', '2026-01-03T00:00:00.000Z', null);
  writer.close();
}

/** The view of the files has the side bar, so that nothing but a tab can wake the extension. */
async function reloadAtFiles(workbench: Workbench): Promise<void> {
  await workbench.openView('Explorer');
  await reloadWindow(workbench);
}

/** The lines of an editor, by its selector. */
const lines = async (workbench: Workbench, editor: string): Promise<string> =>
  (await workbench.page.locator(`${editor} .view-lines`).first().innerText()).replaceAll('\u00a0', ' ');

scenario(
  'a comparison in the diff editor, and the model input of a message, come back after a reload',
  async (workbench) => {
    prepare(workbench);
    const view = await workbench.openView('C3');
    await unfold(workbench.treeItem(view, `Run ${RUN}`));
    await unfold(workbench.treeItem(view, 'Step 1'));
    const episodes = view.getByRole('treeitem').filter({ hasText: 'Question 1' });
    await workbench.chooseOnceOffered(episodes.nth(0), 'Select to compare');
    await workbench.chooseOnceOffered(episodes.nth(1), 'Compare with the selected branch');
    await workbench.page.locator('.monaco-diff-editor').waitFor();
    const both = async (): Promise<boolean> =>
      (await lines(workbench, '.monaco-diff-editor .editor.original')).includes('answer 0.0') &&
      (await lines(workbench, '.monaco-diff-editor .editor.modified')).includes('answer 0.1');
    await eventually('both answers', both);
    await reloadAtFiles(workbench);
    await workbench.page.locator('.monaco-diff-editor').waitFor();
    await eventually('both answers after the reload', both);
    await workbench.screenshot('survives-diff');
    await workbench.closeAllEditors();

    await workbench.openView('C3');
    const buckets = await workbench.openView('C3', 'Buckets');
    await workbench.chooseOnceOffered(workbench.treeItem(buckets, 'reasoner'), 'Show model input as tokens');
    const editor = '.editor-instance .monaco-editor';
    const input = async (): Promise<boolean> =>
      (await lines(workbench, editor)).includes('the model input, exactly as the model saw it');
    await eventually('the model input', input);
    const before = await lines(workbench, editor);
    await reloadAtFiles(workbench);
    await workbench.page.locator(editor).first().waitFor();
    await eventually('the model input after the reload', input);
    await eventually('the same lines', async () => (await lines(workbench, editor)) === before);
    await workbench.screenshot('survives-context');
    // Nobody can write to it.
    await workbench.page.locator(`${editor} .view-lines`).first().click();
    await workbench.page.keyboard.type('x');
    await eventually('the reason', async () =>
      (
        await workbench.page
          .locator('.monaco-editor-overlaymessage')
          .first()
          .evaluate((element) => element.textContent)
      ).includes('Recorded text cannot be edited'),
    );
    await workbench.closeAllEditors();
    assertQuiet(workbench);
  },
);

scenario(
  'a report that is open comes back after a reload, follows its file, and says in one sentence when that is gone',
  async (workbench) => {
    const page = reading(workbench, (store) => reportPage(runReport(store, RUN)));
    const view = await workbench.openView('C3');
    await workbench.chooseOnceOffered(workbench.treeItem(view, `Run ${RUN}`), 'Export report');
    const path = await saveAs(workbench, `run-${RUN}.html`, 'run.html');
    assert.equal(readFileSync(path, 'utf8'), page);
    await workbench.answerNotification('The report was saved as run.html', 'Open');
    await (await workbench.webview('Report run.html')).getByRole('heading', { name: `Run ${RUN}` }).waitFor();
    await reloadAtFiles(workbench);
    const again = await workbench.webview('Report run.html');
    await again.getByRole('heading', { name: `Run ${RUN}` }).waitFor();
    await workbench.screenshot('survives-report');
    writeFileSync(path, page.replaceAll(`Run ${RUN}`, 'Written anew'));
    await again.getByRole('heading', { name: 'Written anew' }).waitFor();
    writeFileSync(path, '<script>document.title = 1</script><img src="https://example.org/x.png">');
    await again.getByText('is not a report that this version of C3 wrote').waitFor();
    rmSync(path);
    await reloadAtFiles(workbench);
    await (
      await workbench.webview('Report run.html')
    )
      .getByText('The report run.html cannot be read any more')
      .waitFor();
    await workbench.screenshot('survives-report-gone');
    assertQuiet(workbench);
  },
);
