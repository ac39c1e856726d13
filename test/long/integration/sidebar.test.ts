/** The side bar and a dashboard in every theme: pictures, wide and narrow. */

import { workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { showBuckets, tickPlans } from '../../integration/sidebarStore.ts';
import { assertQuiet } from '../../integration/team.ts';

const THEMES = ['light', 'highContrast', 'dark'] as const;

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

async function pictures(workbench: Workbench, name: string, height: number): Promise<void> {
  await workbench.pictures(name, THEMES, [
    [1280, height],
    [800, height],
  ]);
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
}

scenario('buckets, all of them and the plans alone', async (workbench) => {
  const buckets = await showBuckets(workbench);
  await pictures(workbench, 'sidebar', 800);
  await tickPlans(workbench);
  await workbench.page.keyboard.press('Enter');
  await workbench.treeItem(buckets, 'reasoner').waitFor();
  await pictures(workbench, 'sidebar-buckets-filtered', 800);
});

scenario('the dashboard of a run', async (workbench) => {
  await workbench.closeAllEditors();
  await workbench.runCommand('C3: Open run dashboard');
  const dashboard = await workbench.webview('Run dashboard');
  await dashboard.getByRole('heading', { name: 'Run dashboard' }).waitFor();
  await workbench.pictures('dashboard', THEMES, [[1400, 900]]);
  assertQuiet(workbench);
});
