/** The side bar: activation only on use, welcome texts, the filter of runs. */

import assert from 'node:assert/strict';
import { RUN } from '../unit/extension/storeFixture.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { fill } from './sidebarStore.ts';
import { assertQuiet } from './team.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario('the extension is not activated before it is used', async (workbench) => {
  await workbench.openFile('notes.md');
  // High enough for the list to hold every row at once.
  await workbench.page.setViewportSize({ width: 1400, height: 2600 });
  const running = workbench.page.locator('.runtime-extensions-editor .monaco-list-row');
  const own = running.filter({ hasText: 'C3: Replay' });
  const list = async (): Promise<void> => {
    await workbench.runCommand('Developer: Show Running Extensions');
    await running.first().waitFor();
  };
  // The list has the keyboard a moment after it is drawn.
  const leave = (): Promise<true> =>
    eventually('the list to be closed', async () => {
      await workbench.page.keyboard.press('Escape');
      await running.first().waitFor({ state: 'detached', timeout: 2_000 });
      return true;
    });
  await list();
  assert.equal(await own.count(), 0);
  await leave();
  const view = await workbench.openView('C3');
  await view.getByRole('button', { name: 'Start C3 run' }).waitFor();
  await list();
  await own.first().waitFor();
  console.log(`in this editor: ${(await own.first().innerText()).replaceAll(/\s+/gu, ' ')}`);
  await leave();
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
});

scenario('both views say what to do in a folder without runs', async (workbench) => {
  const view = await workbench.openView('C3');
  await view.getByRole('button', { name: 'Start C3 run' }).waitFor();
  const buckets = await workbench.openView('C3', 'Buckets');
  await buckets.getByText('The first run fills this view').waitFor();
});

scenario(
  'runs are filtered as one types or ticks, and the filter is cleared from the empty view',
  async (workbench) => {
    fill(workbench);
    await workbench.runCommand('C3: Refresh');
    const view = await workbench.openView('C3');
    await workbench.treeItem(view, 'Run empty').waitFor();
    const input = workbench.page.locator('.quick-input-widget:visible input.input');
    await eventually('the runs that are left', async () => {
      await workbench.runCommand('C3: Filter runs');
      await input.fill('cancelled', { timeout: 10_000 });
      await workbench.treeItem(view, `Run ${RUN}`).waitFor({ state: 'detached', timeout: 10_000 });
      return true;
    });
    await workbench.screenshot('sidebar-filter');
    await input.fill('nothing like it');
    await input.press('Enter');
    await view.getByText('No runs match the filter').waitFor();
    await workbench.screenshot('sidebar-filtered-empty');
    await view.getByRole('button', { name: 'Clear filter' }).click();
    await workbench.treeItem(view, `Run ${RUN}`).waitFor();
    await workbench.runCommandAndPick('C3: Show buckets', 'Run empty');
    const buckets = await workbench.openView('C3', 'Buckets');
    await buckets.getByText('This run has no buckets yet').waitFor();
    assertQuiet(workbench);
  },
);
