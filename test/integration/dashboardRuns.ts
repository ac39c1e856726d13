/** Runs of many steps in the dashboard: drawn, read by keyboard, in tables and copies. */

import assert from 'node:assert/strict';
import { choose, chart, heard, openDashboard, seePoints, withMade } from './dashboardPanel.ts';
import { addMadeRun } from './dashboardStore.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { assertQuiet } from './team.ts';

const HOSTILE = 'Leave-one-out <img src=x onerror=alert(1)> \u202Etxt.exe';
/** Steps of the run that is shorter than the others. */
export const SHORT = 40;

/** @param steps of the two long runs */
async function prepare(workbench: Workbench, steps: number): Promise<void> {
  await withMade(workbench, (store) => {
    addMadeRun(store, { id: 'long', title: 'Long run', seed: 1, steps, accuracy: [0.5, 0.72] });
    addMadeRun(store, {
      id: 'full',
      title: 'Full mean, as long',
      method: 'c3_full_mean',
      seed: 2,
      steps,
      accuracy: [0.5, 0.66],
    });
    addMadeRun(store, { id: 'short', title: HOSTILE, method: 'magrpo', seed: 3, steps: SHORT, accuracy: [0.51, 0.58] });
    addMadeRun(store, { id: 'none', title: 'As it is', method: 'sft', seed: 4, steps: 0, accuracy: [0.5, 0.5] });
  });
}

/** A number of steps as it is shown. */
export const said = (step: number): string => step.toLocaleString('en');

/**
 * Declares the scenario that stores the runs and reads one of them.
 * @param steps of the two long runs
 */
export function longRunScenario(
  scenario: (name: string, body: (workbench: Workbench) => Promise<void>) => void,
  steps: number,
): void {
  scenario(
    `a run of ${said(steps)} steps is drawn at once, read by keyboard without delay, and whole in its table and copy`,
    async (workbench) => {
      await prepare(workbench, steps);
      await workbench.openView('C3');
      const dashboard = await openDashboard(workbench);
      await choose(workbench, dashboard, 'Run', 'Long run');
      const frame = chart(dashboard, 'Mean return');
      await seePoints(dashboard, 'Mean return', steps);

      await frame.focus();
      await workbench.page.keyboard.press('End');
      await heard(dashboard, new RegExp(`^step ${said(steps)}, mean return 0\\.\\d+, episodes 4$`, 'u'));
      await workbench.page.keyboard.press('ArrowLeft');
      await heard(dashboard, new RegExp(`^step ${said(steps - 1)}, `, 'u'));
      await workbench.page.keyboard.press('Home');
      await heard(dashboard, /^step 1, /u);
      for (let press = 0; press < 30; press++) {
        await workbench.page.keyboard.press('ArrowRight');
      }
      await heard(dashboard, /^step 31, /u);

      await dashboard.getByRole('button', { name: 'Table of Training credit of reasoner' }).click();
      const rows = dashboard.getByRole('table', { name: 'Training credit of reasoner' }).locator('tbody tr');
      await eventually('all rows', async () => (await rows.count()) === steps);
      await dashboard.getByRole('button', { name: 'Table of Training credit of reasoner' }).click();

      await workbench.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await dashboard.getByRole('button', { name: 'Copy Evaluator calls per step as CSV' }).click();
      await workbench.confirm('Copy');
      await heard(dashboard, new RegExp(`${steps} rows copied as CSV`, 'u'));
      const lines = await eventually('the copy', async () => {
        const text = (await workbench.page.evaluate(() => navigator.clipboard.readText())).split(/\r?\n/u);
        return text[0] === 'Step,Evaluator calls' ? text : undefined;
      });
      assert.deepEqual([lines.length, lines[1], lines[steps]], [steps + 2, '1,4', `${steps},4`]);
      await workbench.page.setViewportSize({ width: 1280, height: 900 });
      assertQuiet(workbench);
    },
  );
}
