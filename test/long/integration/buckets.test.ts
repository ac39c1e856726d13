/**
 * The buckets of the side bar by keyboard alone, and the ways to the clearest and to the lowest-credit message of a
 * problem.
 */

import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { backTo, showBuckets } from '../../integration/sidebarStore.ts';
import { assertQuiet, openFromEpisodes, reading, unfold } from '../../integration/team.ts';
import { RUN } from '../../unit/extension/storeFixture.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

/** The row of a list that has the keyboard. */
const focused = (view: Locator): Locator => view.locator('.monaco-list-row.focused');

scenario('by keyboard alone the menu of a bucket copies a link to it, and compares messages', async (workbench) => {
  const buckets = await showBuckets(workbench);
  const { page } = workbench;
  await workbench.runCommandAndPick('C3: Sort buckets', 'Replace against remove');
  await workbench.treeItem(buckets, 'remove not measured').waitFor();
  await workbench.treeItem(buckets, 'Question 9').or(workbench.treeItem(buckets, 'plan 0')).click();
  await backTo(workbench, buckets);
  await page.keyboard.press('ArrowRight');
  await workbench.treeItem(buckets, 'plan 1').waitFor();
  await page.keyboard.press('Home');
  await eventually('the keyboard on the first bucket', async () => (await focused(buckets).count()) === 1);
  const choose = async (key: string, name: string): Promise<void> => {
    const entry = page.getByRole('menuitem', { name, exact: true });
    // A menu that has just closed has it for a moment, and a transcript that has just opened takes it for good.
    await eventually(`the menu with "${name}"`, async () => {
      if (!(await buckets.evaluate((list) => list.contains(list.ownerDocument.activeElement)))) {
        await buckets.locator('.monaco-list').first().focus();
        return false;
      }
      await page.keyboard.press(key);
      if (
        await entry.waitFor({ timeout: 2_000 }).then(
          () => true,
          () => false,
        )
      ) {
        return true;
      }
      // In the list itself, Escape would take the keyboard from its row.
      if (await page.locator('.monaco-menu').isVisible()) {
        await page.keyboard.press('Escape');
      }
      return false;
    });
    await eventually(`the keyboard on "${name}"`, async () => {
      if (
        await entry.evaluate(
          (element) =>
            element.contains(element.ownerDocument.activeElement) ||
            element.parentElement?.classList.contains('focused') === true,
        )
      ) {
        return true;
      }
      await page.keyboard.press('ArrowDown');
      return false;
    });
    await workbench.screenshot('sidebar-bucket-menu');
    await page.keyboard.press('Enter');
    await entry.waitFor({ state: 'hidden' });
  };
  await choose('Shift+F10', 'Copy link');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const link = await eventually('the link on the clipboard', async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    return text.includes('/bucket/') && text;
  });
  const first = reading(
    workbench,
    (store) => store.rankedBuckets({ run: RUN, order: 'distance', offset: 0, limit: 1 })[0]?.bucket,
  );
  assert.ok(link.includes(`/bucket/${String(first)}?run=${RUN}&`), link);
  await choose('ContextMenu', 'Select to compare');
  // The second message of the bucket; the first is the one that the bucket represents.
  const second = workbench.treeItem(buckets, 'plan 1');
  await eventually('the keyboard on the second message', async () => {
    if (
      await second.evaluate(
        (row) =>
          row.classList.contains('focused') ||
          row.querySelector('.focused') !== null ||
          row.closest('.focused') !== null,
      )
    ) {
      return true;
    }
    await page.keyboard.press('ArrowDown');
    return false;
  });
  await choose('Shift+F10', 'Compare with the selected branch');
  await page.locator('.monaco-diff-editor').waitFor();
  await workbench.closeEditor();
  await page.locator('.monaco-diff-editor').waitFor({ state: 'detached' });
});

scenario(
  'a problem that is chosen among the episodes opens at its clearest message, and W leads to the lowest-credit message',
  async (workbench) => {
    await workbench.closeAllEditors();
    await openFromEpisodes(workbench, 'question:"Question 9"', `Run ${RUN}`);
    const transcript = await workbench.webview(/^Question 9/u);
    const chosen = (label: string): Locator =>
      transcript.locator(`[role="treeitem"][aria-selected="true"][aria-label^="${label}"]`);
    await chosen('reasoner 1 of 2').waitFor();
    const tree = transcript.getByRole('tree');
    await tree.focus();
    // Where the keyboard is counts, as for every other key.
    await tree.press('End');
    await transcript.locator('.active[aria-label^="actor 2 of 2"]').waitFor();
    await tree.press('w');
    await transcript.locator('.active[aria-selected="true"][aria-label^="reasoner 2 of 2"]').waitFor();
    await workbench.screenshot('costliest');
    await tree.press('Home');
    await tree.press('Enter');
    await transcript.getByRole('heading', { name: 'Question' }).waitFor();
    await workbench.page
      .locator('.editor-actions')
      .getByRole('button', { name: 'Go to lowest-credit message' })
      .click();
    await chosen('reasoner 2 of 2').waitFor();
    // Where none is decided, the clearest candidate is only called so.
    const view = await workbench.openView('C3');
    await unfold(workbench.treeItem(view, `Run ${RUN}`));
    await unfold(workbench.treeItem(view, 'Step 1'));
    await workbench.treeItem(view, 'Question 0').click();
    await workbench.treeItem(view, 'Step 1').click();
    await (await workbench.webview(/^Question 0/u)).locator('[role="treeitem"][aria-selected="true"]').waitFor();
    await workbench.runCommand('C3: Go to lowest-credit message');
    await workbench.page
      .locator('.statusbar')
      .getByText('Clearest candidate of this episode; no message is known to have hurt.')
      .waitFor();
    await openFromEpisodes(workbench, 'question:"Question 9"', `Run ${RUN}`);
    await (
      await workbench.webview(/^Question 9/u)
    )
      .locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner 1 of 2"]')
      .waitFor();
    assertQuiet(workbench);
  },
);
