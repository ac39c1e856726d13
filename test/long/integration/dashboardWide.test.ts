/**
 * The dashboard of several runs: charts over other axes, with a front for each task, the room that they take, and what
 * was compared after a reload behind a file.
 */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { findings } from '../../integration/axe.ts';
import {
  assertFits,
  chart,
  choose,
  figure,
  heard,
  openDashboard,
  seePoints,
  seeRuns,
  tableOf,
  takeOff,
  withMade,
} from '../../integration/dashboardPanel.ts';
import { addMadeRun } from '../../integration/dashboardStore.ts';
import { eventually, SCREENS, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { assertQuiet, chosenValue, reloadWindow, tick } from '../../integration/team.ts';

/** Of pictures for people. */
const THEMES = ['light', 'dark'] as const;

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

/** Two runs of one task and one of another, and four with long titles, which cost more and are less accurate. */
async function prepare(workbench: Workbench): Promise<void> {
  await withMade(workbench, (store) => {
    if (store.runs(0, 100).some(({ id }) => id === 'sums')) {
      return;
    }
    addMadeRun(store, { id: 'sums', title: 'Sums alone', seed: 1, steps: 60, accuracy: [0.5, 0.7], task: 'sums' });
    addMadeRun(store, {
      id: 'sums-2',
      title: 'Sums again',
      seed: 2,
      steps: 90,
      accuracy: [0.5, 0.66],
      task: 'sums',
      method: 'magrpo',
    });
    addMadeRun(store, { id: 'code', title: 'Code alone', seed: 3, steps: 30, accuracy: [0.6, 0.9], task: 'code' });
    for (const seed of [4, 5, 6, 7]) {
      const title = `Long ${seed}: a title as people write them who compare many runs, learning rate 0.000${seed}, fan-out 2 by 4`;
      addMadeRun(store, { id: `long-${seed}`, title, seed, steps: 70, accuracy: [0.5, 0.6], task: 'sums' });
    }
  });
}

/** The dashboard of one run alone, over steps. */
async function openSums(workbench: Workbench): Promise<FrameLocator> {
  await workbench.openView('C3');
  await workbench.runCommand('C3: Refresh');
  const dashboard = await openDashboard(workbench);
  await choose(workbench, dashboard, 'Run', 'Sums alone');
  await takeOff(dashboard);
  await choose(workbench, dashboard, 'Scales', 'Linear axes');
  await choose(workbench, dashboard, 'Horizontal axis', 'Over steps');
  return dashboard;
}

scenario(
  'charts run over tokens, calls or time, and on logarithmic axes, which say what they leave out',
  async (workbench) => {
    await prepare(workbench);
    const dashboard = await openSums(workbench);
    const frame = chart(dashboard, 'Mean return');
    await seePoints(dashboard, 'Mean return', 60);
    // A step of these runs has 144 tokens and 4 calls.
    for (const [axis, words] of [
      ['Over tokens', /^step 60, 8,640 tokens, mean return/u],
      ['Over evaluator calls', /^step 60, 240 evaluator calls, /u],
      ['Over training time', /^step 60, \d\d s, /u],
    ] as const) {
      await choose(workbench, dashboard, 'Horizontal axis', axis);
      await frame.focus();
      await workbench.page.keyboard.press('Home');
      await workbench.page.keyboard.press('End');
      await heard(dashboard, words);
    }
    await choose(workbench, dashboard, 'Horizontal axis', 'Over tokens');
    await eventually('a table over tokens', async () => {
      assert.deepEqual((await tableOf(dashboard, 'Mean return'))[1]?.slice(0, 2), ['2', '288']);
      return true;
    });
    await dashboard.getByRole('button', { name: 'Table of Mean return' }).click();
    await choose(workbench, dashboard, 'Scales', 'Logarithmic x and y');
    // Before training nothing was spent; credit has two signs.
    await figure(dashboard, 'Held-out accuracy, greedy')
      .getByText('1 point at 0 cannot be shown on a logarithmic axis.')
      .waitFor();
    await figure(dashboard, 'Training credit of reasoner')
      .getByText('An axis stays linear: not all of its values are positive.')
      .waitFor();
    await figure(dashboard, 'Training credit of reasoner')
      .getByText('The credits from which each step learned')
      .waitFor();
    assert.equal(await figure(dashboard, 'KL to the starting policy').getByText('stays linear').count(), 0);
    await workbench.pictures('dashboard-log', THEMES, SCREENS, () =>
      figure(dashboard, 'Mean return').scrollIntoViewIfNeeded(),
    );
    await workbench.page.setViewportSize({ width: 1920, height: 1080 });
    await assertFits(dashboard, 'at 1920');
    assert.deepEqual(await findings(dashboard), []);
    await workbench.page.setViewportSize({ width: 1280, height: 800 });
    assertQuiet(workbench);
  },
);

scenario('each task has a Pareto front of its own', async (workbench) => {
  await prepare(workbench);
  const dashboard = await openSums(workbench);
  const on = async (task: string): Promise<readonly (string | undefined)[]> =>
    (await tableOf(dashboard, `Accuracy against cost: ${task}`))
      .filter((cells) => cells.at(-1) === 'yes')
      .map(([name]) => name);
  // The run of the other task is cheaper and more accurate than both.
  await eventually('a front for each task', async () => {
    assert.deepEqual([await on('sums'), await on('code')], [['A: Sums alone'], ['Code alone']]);
    return true;
  });
  await figure(dashboard, 'Accuracy against cost: sums').scrollIntoViewIfNeeded();
  await workbench.screenshot('dashboard-fronts');
  for (const task of ['sums', 'code']) {
    await dashboard.getByRole('button', { name: `Table of Accuracy against cost: ${task}`, exact: true }).click();
  }
});

scenario('at 200 % zoom no number is cut, and a command takes the run of the dashboard in front', async (workbench) => {
  await prepare(workbench);
  const dashboard = await openSums(workbench);
  await workbench.page.setViewportSize({ width: 640, height: 400 });
  await assertFits(dashboard, 'at 200 % zoom');
  await workbench.page.setViewportSize({ width: 1280, height: 800 });
  // Others are newer, and a list of runs would ask for one.
  await workbench.runCommand('C3: Inspect failure taxonomy');
  const taxonomy = await workbench.webview('Failure taxonomy');
  await taxonomy.locator('.panel-head').getByText('Sums alone').waitFor();
  await workbench.closeEditor();
});

scenario('comparing six runs fits a window of 1280 pixels', async (workbench) => {
  await prepare(workbench);
  const dashboard = await openSums(workbench);
  await workbench.openView('C3');
  await workbench.page.setViewportSize({ width: 1280, height: 800 });
  await dashboard.getByText('Compare runs').click();
  // The list says so while there is room for another run.
  await dashboard.getByText('1 of other tasks is left out.').waitFor();
  for (const name of [/Sums again/u, /Long 4/u, /Long 5/u, /Long 6/u, /Long 7/u]) {
    await tick(dashboard.getByRole('checkbox', { name }));
  }
  await dashboard.getByText('Compared with 5 runs').waitFor();
  await assertFits(dashboard, 'the list open');
  await workbench.screenshot('dashboard-compare-six-open');
  await workbench.page.keyboard.press('Escape');
  await seeRuns(dashboard, 6);
  const sizes = [...SCREENS, [900, 800]] as const;
  for (const [width, height] of sizes) {
    await workbench.page.setViewportSize({ width, height });
    await assertFits(dashboard, `at ${width}`);
  }
  await workbench.pictures('dashboard-compare-six', THEMES, sizes, (width) => assertFits(dashboard, `at ${width}`));
  // At 200 % zoom the head goes with the page: it would leave the charts a third of the height.
  await workbench.page.setViewportSize({ width: 640, height: 400 });
  const table = dashboard.getByRole('table').last();
  await eventually('the head out of sight below the charts', async () => {
    await table.evaluate((element) => element.scrollIntoView({ block: 'end' }));
    const box = await dashboard.locator('.panel-head').evaluate((element) => element.getBoundingClientRect().bottom);
    return box <= 0;
  });
  await workbench.page.setViewportSize({ width: 1280, height: 800 });
});

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
  await eventually('the axis', async () => (await chosenValue(again, 'Horizontal axis')) === 'time');
  await workbench.runCommand('C3: Open run dashboard');
  assert.equal(await workbench.tab('Run dashboard').count(), 1);
  assertQuiet(workbench);
});
