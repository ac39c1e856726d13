/**
 * The run dashboard with runs of 2,000 steps, over each other, the way on to their episodes, and pictures in all
 * themes.
 */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { chart, choose, figure, heard, openDashboard, seePoints, seeRuns } from '../../integration/dashboardPanel.ts';
import { longRunScenario, said, SHORT } from '../../integration/dashboardRuns.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { assertQuiet, chosenValue, reloadWindow, tick } from '../../integration/team.ts';

const STEPS = 2000;
const ALL_POINTS = 2 * STEPS + SHORT;
/** Of pictures for people. */
const THEMES = ['light', 'highContrast', 'dark'] as const;
const SIZES = [
  [1280, 900],
  [800, 900],
] as const;

const scenario = workbenchScenarios();

/** The long run with two others over it, as they were left or chosen now. */
async function compareThree(workbench: Workbench): Promise<FrameLocator> {
  const dashboard = await openDashboard(workbench);
  await choose(workbench, dashboard, 'Run', 'Long run');
  const legend = dashboard.getByRole('list', { name: 'Runs in the charts' });
  if ((await legend.getByRole('listitem').count()) !== 3) {
    await dashboard.getByText('Compare runs').click();
    await tick(dashboard.getByRole('checkbox', { name: /Full mean/u }));
    await tick(dashboard.getByRole('checkbox', { name: /Leave-one-out/u }));
    await dashboard.getByText('Compared with 2 runs').waitFor();
    await workbench.page.keyboard.press('Escape');
    await seeRuns(dashboard, 3);
  }
  return dashboard;
}

longRunScenario(scenario, STEPS);

scenario(
  'runs are laid over each other, distinguished without colour, and come back after a reload',
  async (workbench) => {
    const dashboard = await compareThree(workbench);
    const legend = await seeRuns(dashboard, 3);
    assert.ok((await legend.innerText()).includes('<img src=x onerror=alert(1)>'), 'a title is text');
    await seePoints(dashboard, 'Mean return', ALL_POINTS);
    await chart(dashboard, 'KL to the starting policy').focus();
    await workbench.page.keyboard.press('End');
    await heard(dashboard, new RegExp(`^A, step ${said(STEPS)}, KL `, 'u'));
    await workbench.page.keyboard.press('ArrowDown');
    await heard(dashboard, new RegExp(`^B, step ${said(STEPS)}, KL `, 'u'));
    await dashboard.getByRole('button', { name: 'Table of Held-out accuracy, greedy' }).click();
    await eventually('the accuracies of three runs', async () => {
      const cells = await dashboard
        .getByRole('table', { name: 'Held-out accuracy, greedy' })
        .locator('tbody tr')
        .allInnerTexts();
      assert.deepEqual(
        cells.map((text) => text.split('\t').slice(1, 4).join(' ')),
        [
          'before 0 50.0 %',
          `after ${said(STEPS)} 72.0 %`,
          'before 0 50.0 %',
          `after ${said(STEPS)} 66.0 %`,
          'before 0 51.0 %',
          'after 40 58.0 %',
        ],
      );
      return true;
    });
    await chart(dashboard, 'Accuracy against cost: unknown task').focus();
    await workbench.page.keyboard.press('Home');
    await heard(
      dashboard,
      /^As it is, sft, seed 4, 50\.0 % \[44\.0, 56\.0\], n = 200, 0 tokens, on the Pareto front$/u,
    );
    await workbench.pictures('dashboard-compare', THEMES, SIZES, () => legend.scrollIntoViewIfNeeded());
    await workbench.pictures('dashboard-boxes', THEMES, SIZES.slice(0, 1), () =>
      figure(dashboard, 'Variance of training credit within a context').scrollIntoViewIfNeeded(),
    );
    await workbench.page.setViewportSize({ width: 1280, height: 900 });
    await workbench.screenshot('dashboard-compare');
    await choose(workbench, dashboard, 'Horizontal axis', 'Over training time');
    const scrolled = (shown: FrameLocator): Promise<number> =>
      shown.locator('html').evaluate((page) => Math.round(page.scrollTop));
    await chart(dashboard, 'KL to the starting policy').scrollIntoViewIfNeeded();
    const place = await scrolled(dashboard);
    assert.ok(place > 100);
    // A place is kept once scrolling rests, or the keyboard leaves the panel; here the page has heard of the
    // scrolling.
    await dashboard
      .locator('html')
      .evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    await reloadWindow(workbench);
    const again = await workbench.webview('Run dashboard');
    await eventually('the place scrolled to', async () => Math.abs((await scrolled(again)) - place) <= 2);
    await seeRuns(again, 3);
    await again.getByRole('table', { name: 'Held-out accuracy, greedy' }).waitFor();
    await eventually('the axis', async () => (await chosenValue(again, 'Horizontal axis')) === 'time');
    await workbench.runCommand('C3: Open run dashboard');
    assert.equal(await workbench.tab('Run dashboard').count(), 1);
    await choose(workbench, again, 'Horizontal axis', 'Over steps');
    assertQuiet(workbench);
  },
);

scenario(
  'a point leads to its step in the side bar and on to its episodes, by keyboard and by mouse',
  async (workbench) => {
    const view = await workbench.openView('C3');
    const dashboard = await compareThree(workbench);
    const frame = chart(dashboard, 'Mean return');
    await seePoints(dashboard, 'Mean return', ALL_POINTS);
    await frame.focus();
    await workbench.page.keyboard.press('Home');
    for (let press = 0; press < 15; press++) {
      await workbench.page.keyboard.press('PageDown');
    }
    await heard(dashboard, /^A, step 151, /u);
    await workbench.page.keyboard.press('Enter');
    await workbench.treeItem(view, 'Step 151').and(view.locator('[aria-selected="true"], .selected')).waitFor();
    await eventually(
      'four episodes below it',
      async () => (await view.getByRole('treeitem', { name: /^return [01]: How many is 12/u }).count()) === 4,
    );
    // The focus is in the side bar: on to the first episode.
    await eventually('the keyboard in the side bar', () =>
      view.evaluate((list) => list.contains(list.ownerDocument.activeElement)),
    );
    await workbench.page.keyboard.press('ArrowDown');
    await view.locator('.monaco-list-row.focused').filter({ hasText: 'How many is 12' }).waitFor();
    await workbench.page.keyboard.press('Enter');
    const transcript = await workbench.webview(/Transcript|How many/u);
    await transcript.getByRole('treeitem').first().waitFor();

    const shown = await openDashboard(workbench);
    await choose(workbench, shown, 'Run', 'Leave-one-out');
    const accuracy = chart(shown, 'Held-out accuracy, greedy');
    await eventually('its points', async () => (await accuracy.getAttribute('aria-label'))?.includes('points'));
    await shown.getByRole('button', { name: 'Table of Mean return' }).click();
    const rows = shown.getByRole('table', { name: 'Mean return' });
    await rows.getByRole('button', { name: '7', exact: true }).first().click();
    await workbench.treeItem(view, 'Step 7').waitFor();

    // A filter of the Runs view that hides the run goes, and that is said.
    await workbench.runCommandAndAnswer('C3: Filter runs', 'nothing like it');
    await view.getByText('No runs match the filter').waitFor();
    await rows.getByRole('button', { name: '9', exact: true }).first().click();
    await workbench.treeItem(view, 'Step 9').and(view.locator('[aria-selected="true"], .selected')).waitFor();
    await workbench.statusBarItem('The filter of the Runs view was cleared').waitFor();
  },
);
