/** Every panel, the side bar and its filter back after a reload. */

import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { bucketsPane, fill, rows, tickPlans } from '../../integration/sidebarStore.ts';
import { assertQuiet, openFromEpisodes, reloadWindow } from '../../integration/team.ts';
import { RUN } from '../../unit/extension/storeFixture.ts';

const scenario = workbenchScenarios();

scenario('every panel, the side bar and its filter come back at their place after a reload', async (workbench) => {
  fill(workbench);
  const view = await workbench.openView('C3');
  const run = workbench.treeItem(view, `Run ${RUN}`);
  await run.click();
  await run.hover();
  await run.getByRole('button', { name: 'Open run dashboard' }).click();
  await (await workbench.webview('Run dashboard')).getByRole('heading', { name: 'Run dashboard' }).waitFor();
  await run.hover();
  await run.getByRole('button', { name: 'Inspect failure taxonomy' }).click();
  await (await workbench.webview('Failure taxonomy')).getByRole('heading', { name: 'Failure taxonomy' }).waitFor();
  const question = workbench.page.locator('.tabs-container [role="tab"][aria-label^="Question 9"]');
  if ((await question.count()) === 0) {
    await openFromEpisodes(workbench, 'question:"Question 9"', `Run ${RUN}`);
  }
  await workbench.openView('C3', 'Buckets');
  await workbench.runCommandAndPick('C3: Sort buckets', 'Replace against remove');
  await tickPlans(workbench);
  await workbench.page.keyboard.press('Enter');
  await bucketsPane(workbench)
    .locator('.pane-header .description')
    .getByText(/^reasoner · /u)
    .waitFor();
  const tabs = (): Promise<(string | null)[]> =>
    workbench.page
      .locator('.tabs-container [role="tab"]')
      .evaluateAll((all) => all.map((tab) => tab.getAttribute('aria-label')));
  await workbench.tab('Failure taxonomy').click();
  await workbench.webview('Failure taxonomy');
  const before = await tabs();
  assert.ok(before.length >= 3, before.join('; '));
  await reloadWindow(workbench);
  await (await workbench.webview('Failure taxonomy')).getByRole('heading', { name: 'Failure taxonomy' }).waitFor();
  await eventually(
    'the same tabs in the same order',
    async () => JSON.stringify(await tabs()) === JSON.stringify(before),
  );
  await workbench.tab('Run dashboard').click();
  await (await workbench.webview('Run dashboard')).getByRole('heading', { name: 'Run dashboard' }).waitFor();
  await question.click();
  await (
    await workbench.webview(/^Question 9/u)
  )
    .locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner"]')
    .waitFor();
  const buckets = await workbench.openView('C3', 'Buckets');
  await workbench.treeItem(buckets, 'remove not measured').waitFor();
  await eventually('the filter to come back', async () =>
    (await rows(buckets)).every((label) => label.startsWith('reasoner')),
  );
  assertQuiet(workbench);
});
