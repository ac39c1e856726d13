/**
 * What is open in the editor comes back after a reload, from what its tab keeps and the store alone: reports,
 * comparisons, model inputs.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { reportPage, runReport } from '../../src/report/report.ts';
import { RUN } from '../unit/extension/storeFixture.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { saveAs } from './saveReport.ts';
import { lines, prepare, reloadAtFiles } from './survivors.ts';
import { assertQuiet, reading, unfold } from './team.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario(
  'a comparison, the model input of a message and a report come back after a reload, and the report follows its file',
  async (workbench) => {
    prepare(workbench);
    await workbench.runCommand('C3: Refresh');
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
    const diff = await keep(workbench);

    const buckets = await workbench.openView('C3', 'Buckets');
    await workbench.chooseOnceOffered(workbench.treeItem(buckets, 'reasoner'), 'Show model input as tokens');
    const editor = '.editor-instance .monaco-editor';
    const input = async (): Promise<boolean> =>
      (await lines(workbench, editor)).includes('the model input, exactly as the model saw it');
    await eventually('the model input', input);
    const before = await lines(workbench, editor);
    const context = await keep(workbench);

    const page = reading(workbench, (store) => reportPage(runReport(store, RUN)));
    const paths: string[] = [];
    for (const name of ['gone.html', 'run.html']) {
      await workbench.chooseOnceOffered(workbench.treeItem(view, `Run ${RUN}`), 'Export report');
      const path = await saveAs(workbench, `run-${RUN}.html`, name);
      paths.push(path);
      assert.equal(readFileSync(path, 'utf8'), page);
      await workbench.answerNotification(`The report was saved as ${name}`, 'Open');
      await (await workbench.webview(`Report ${name}`)).getByRole('heading', { name: `Run ${RUN}` }).waitFor();
    }
    const [gone, path] = paths;
    assert.ok(gone !== undefined && path !== undefined);

    await tabNamed(workbench, diff).click();
    await workbench.page.locator('.monaco-diff-editor').waitFor();
    rmSync(gone);
    await reloadAtFiles(workbench);
    await workbench.page.locator('.monaco-diff-editor').waitFor();
    await eventually('both answers after the reload', both);
    await workbench.screenshot('survives-diff');

    await workbench.tab('Report run.html').click();
    const again = await workbench.webview('Report run.html');
    await again.getByRole('heading', { name: `Run ${RUN}` }).waitFor();
    await workbench.screenshot('survives-report');
    writeFileSync(path, page.replaceAll(`Run ${RUN}`, 'Written anew'));
    await again.getByRole('heading', { name: 'Written anew' }).waitFor();
    writeFileSync(path, '<script>document.title = 1</script><img src="https://example.org/x.png">');
    await again.getByText('is not a report that this version of C3 wrote').waitFor();

    await workbench.tab('Report gone.html').click();
    await (
      await workbench.webview('Report gone.html')
    )
      .getByText('The report gone.html cannot be read any more')
      .waitFor();
    await workbench.screenshot('survives-report-gone');

    await tabNamed(workbench, context).click();
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
    assertQuiet(workbench);
  },
);

/** The tab with these words; its label for the screen reader begins with others where it compares. */
function tabNamed(workbench: Workbench, title: string): Locator {
  return workbench.page.locator('.tabs-container [role="tab"]', { hasText: title });
}

/** Keeps the editor in front, which the next one would take the place of. @returns its title */
async function keep(workbench: Workbench): Promise<string> {
  await workbench.runCommand('View: Keep Editor');
  const tab = workbench.page.locator('.tabs-container [role="tab"][aria-selected="true"]:not(:has(.italic))').first();
  return (await tab.locator('.label-name').innerText()).trim();
}
