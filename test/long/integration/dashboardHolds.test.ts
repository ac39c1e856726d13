/** The run dashboard in a real VS Code holds still while it is read. */

import { chart, choose, openDashboard, seePoints, takeOff, withMade } from '../../integration/dashboardPanel.ts';
import { addMadeRun, addMadeStep } from '../../integration/dashboardStore.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertQuiet } from '../../integration/team.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario(
  'a live view holds still while it is read and while it is paused, and says how many steps wait',
  async (workbench) => {
    await withMade(workbench, async (store) => {
      addMadeRun(store, { id: 'live', title: 'Live run', seed: 6, steps: 5, planned: 60 });
      await workbench.openView('C3');
      await workbench.runCommand('C3: Refresh');
      let dashboard = await openDashboard(workbench);
      await choose(workbench, dashboard, 'Run', 'Live run');
      await takeOff(dashboard);
      let frame = chart(dashboard, 'Mean return');
      const points = (number: number): Promise<void> => seePoints(dashboard, 'Mean return', number);
      await points(5);
      let step = 5;
      const goOn = (): void => {
        store.transaction(() => addMadeStep(store, 'live', 6, ++step, 60));
      };
      goOn();
      await points(6);

      await frame.focus();
      goOn();
      goOn();
      await dashboard.getByText('2 steps waiting', { exact: true }).waitFor();
      await points(6);
      await workbench.screenshot('dashboard-waiting');
      await dashboard.getByRole('button', { name: 'Pause' }).focus();
      await points(8);

      await dashboard.getByRole('button', { name: 'Pause' }).click();
      goOn();
      await dashboard.getByText('Paused, 1 step waiting').waitFor();
      await points(8);
      await dashboard.getByRole('button', { name: 'Continue' }).click();
      await points(9);

      // Hidden while it is paused: it comes back as it was, and what came meanwhile waits.
      await dashboard.getByRole('button', { name: 'Pause' }).click();
      await workbench.openFile('notes.md');
      goOn();
      goOn();
      await workbench.tab('Run dashboard').click();
      dashboard = await workbench.webview('Run dashboard');
      frame = chart(dashboard, 'Mean return');
      await dashboard.getByText('Paused, 2 steps waiting').waitFor();
      await points(9);
      await dashboard.getByRole('button', { name: 'Continue' }).click();
      await points(11);

      await eventually('the figures under the pointer', async () => {
        await workbench.page.mouse.move(700, 5);
        await frame.hover();
        await dashboard.locator('.tip', { hasText: /^step \d/u }).waitFor({ timeout: 5_000 });
        return true;
      });
      goOn();
      await dashboard.getByText('1 step waiting', { exact: true }).waitFor();
      await dashboard.getByText('Compare runs').hover();
      await points(12);
    });
    assertQuiet(workbench);
  },
);
