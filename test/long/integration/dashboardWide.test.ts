/** The dashboard of several runs: its pictures in all themes, and what it compared after a reload behind a file. */
import assert from 'node:assert/strict';
import { choose, seeRuns } from '../../integration/dashboardPanel.ts';
import { wideScenarios } from '../../integration/dashboardWide.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertQuiet, reloadWindow } from '../../integration/team.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

wideScenarios(scenario, ['light', 'dark']);

scenario('after a reload there is one dashboard, with what it compared', async (workbench) => {
  // The command would show the newest run in place of the first.
  const dashboard = await workbench.webview('Run dashboard');
  await seeRuns(dashboard, 6);
  await choose(workbench, dashboard, 'Horizontal axis', 'Over training time');
  // Behind another editor its page is brought back only when it is seen.
  await workbench.openFile('notes.md');
  await reloadWindow(workbench);
  await workbench.openView('C3');
  await workbench.runCommand('C3: Open run dashboard');
  const again = await workbench.webview('Run dashboard');
  await again.getByRole('list', { name: 'Runs in the charts' }).waitFor();
  assert.equal(await workbench.tab('Run dashboard').count(), 1);
  const axis = again.getByRole('combobox', { name: 'Horizontal axis', exact: true });
  await eventually(
    'the axis',
    async () => (await axis.evaluate((element: HTMLSelectElement) => element.value)) === 'time',
  );
  await workbench.runCommand('C3: Open run dashboard');
  assert.equal(await workbench.tab('Run dashboard').count(), 1);
  assertQuiet(workbench);
});
