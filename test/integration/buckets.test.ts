/** The buckets of the side bar: ranks, menus, their filter. */

import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { backTo, bucketsPane, rows, showBuckets, tick, tickPlans } from './sidebarStore.ts';
import { hasFocus } from './team.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario(
  'buckets are ordered by rank, say what was not measured, and open the transcript at the message',
  async (workbench) => {
    const buckets = await showBuckets(workbench);
    await eventually('the clearest first', async () =>
      /^reasoner: plan 0; Clearest credit: \+0\.90, helped, n = 4; step 1/u.test((await rows(buckets))[0] ?? ''),
    );
    await workbench.screenshot('sidebar');
    await workbench.runCommandAndPick('C3: Sort buckets', 'Spread of returns');
    await workbench.treeItem(buckets, '±0.58').waitFor();
    await workbench.runCommandAndPick('C3: Sort buckets', 'Replace against remove');
    await workbench.treeItem(buckets, 'remove not measured').waitFor();
    await workbench.treeItem(buckets, 'remove not measured').click();
    const transcript = await workbench.webview(/^Question 9/u);
    await transcript
      .locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner 1 of 2: plan 0"]')
      .waitFor();
    // A click opens, and gives the transcript the keyboard; the messages of the bucket unfold by key.
    await backTo(workbench, buckets);
    await workbench.page.keyboard.press('ArrowRight');
    const alternative = workbench.treeItem(buckets, 'plan 1');
    await alternative.waitFor();
    await alternative.click({ button: 'right' });
    for (const name of [
      'Open transcript',
      'Open transcript to the side',
      'Replay alternatives',
      'Verify replay',
      'Select to compare',
      'Show model input as tokens',
      'Export report',
      'Copy link',
    ]) {
      await workbench.page.getByRole('menuitem', { name, exact: true }).waitFor();
    }
    await workbench.page.keyboard.press('Escape');
    // By keyboard alone.
    await alternative.click();
    await backTo(workbench, buckets);
    await workbench.page.keyboard.press('ArrowUp');
    await workbench.page.keyboard.press('Enter');
    await transcript.locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner 1 of 2"]').waitFor();
    await eventually('the keyboard in the transcript', () => hasFocus(transcript.getByRole('tree')));
  },
);

scenario(
  'buckets are filtered by what is ticked, say so beside their title, and the filter is cleared from there',
  async (workbench) => {
    const buckets = await workbench.openView('C3', 'Buckets');
    await tickPlans(workbench);
    await workbench.screenshot('sidebar-buckets-filter');
    await tick(workbench, 'credit not measured');
    await workbench.page.keyboard.press('Enter');
    await buckets.getByText('No buckets of this run match the filter').waitFor();
    await workbench.screenshot('sidebar-buckets-filtered-empty');
    await buckets.getByRole('button', { name: 'Change the filter' }).click();
    await tick(workbench, 'credit not measured');
    await workbench.page.keyboard.press('Enter');
    await workbench.treeItem(buckets, 'reasoner').waitFor();
    await eventually('plans alone', async () => (await rows(buckets)).every((label) => label.startsWith('reasoner')));
    const pane = bucketsPane(workbench);
    await pane
      .locator('.pane-header .description')
      .getByText(/^reasoner · /u)
      .waitFor();
    await workbench.screenshot('sidebar-buckets-filtered');
    await pane.locator('.pane-header').hover();
    await pane.getByRole('button', { name: 'Clear buckets filter' }).click();
    await workbench.treeItem(buckets, 'actor').waitFor();
  },
);
