/**
 * The dashboard's curves in a real VS Code: evaluations at once and on the way, other axes, one front per task, one
 * panel, and room at 1280 pixels.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { FrameLocator, Locator } from 'playwright-core';
import type { EvaluationPoint } from '../../src/shared/records/evaluations.ts';
import { findings } from './axe.ts';
import { addMadeRun, openMade } from './dashboardStore.ts';
import { eventually, SCREENS, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, chooseOption, reading, reloadWindow, storeOf, TINY } from './team.ts';

const scenario = workbenchScenarios({ files: { 'tiny.c3.yaml': TINY } });
const CLI = join(import.meta.dirname, '..', '..', 'dist', 'cli.js');

const figure = (dashboard: FrameLocator, title: string | RegExp): Locator =>
  dashboard.getByRole('figure', { name: title, exact: true });
const chart = (dashboard: FrameLocator, title: string): Locator => figure(dashboard, title).getByRole('application');

async function openDashboard(workbench: Workbench): Promise<FrameLocator> {
  await workbench.runCommand('C3: Open run dashboard');
  return workbench.webview('Run dashboard');
}

async function choose(workbench: Workbench, dashboard: FrameLocator, chooser: string, title: string): Promise<void> {
  await workbench.page.mouse.move(700, 5);
  await chooseOption(dashboard, chooser, title);
}

async function heard(dashboard: FrameLocator, words: RegExp): Promise<string> {
  return eventually(`${String(words)} said`, async () => {
    const said = await dashboard.locator('[aria-live="polite"]').innerText();
    return words.test(said) ? said : undefined;
  });
}

async function tableOf(dashboard: FrameLocator, title: string): Promise<readonly (readonly string[])[]> {
  const button = dashboard.getByRole('button', { name: `Table of ${title}`, exact: true });
  if ((await button.getAttribute('aria-expanded')) !== 'true') {
    await button.click();
  }
  const rows = dashboard.getByRole('table', { name: title, exact: true }).locator('tbody tr');
  await rows.first().waitFor();
  return (await rows.allInnerTexts()).map((text) => text.split('\t'));
}

/** The page under a panel is no wider than what is seen of it. */
async function assertFits(dashboard: FrameLocator, where: string): Promise<void> {
  // The editor lays out its panels some frames after the window, and charts some after those.
  await eventually(`the page to fit ${where}`, async () => {
    const wide = await widthOf(dashboard);
    assert.ok(wide.scroll <= wide.client && wide.beyond.length === 0, JSON.stringify(wide));
    return true;
  });
}

async function widthOf(
  dashboard: FrameLocator,
): Promise<{ readonly scroll: number; readonly client: number; readonly beyond: readonly string[] }> {
  return dashboard.locator('html').evaluate((page: HTMLElement) => {
    const { clientWidth } = page;
    const beyond = [...page.querySelectorAll<HTMLElement>('body *')].filter(
      (element) =>
        element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true }) &&
        element.closest('.data') === null &&
        element.getBoundingClientRect().right > clientWidth + 1,
    );
    return {
      scroll: page.scrollWidth,
      client: clientWidth,
      beyond: beyond.slice(0, 3).map((element) => `${element.tagName} ${element.className}`),
    };
  });
}

scenario(
  'what was measured before training shows while the run continues, and stays after it was cancelled',
  async (workbench) => {
    const config = ['--override', 'steps=400', '--override', 'evaluation.every=2', '--override', 'title=Stopped'];
    const run = spawn(process.execPath, [CLI, 'run', 'tiny.c3.yaml', ...config, '--store', storeOf(workbench.folder)], {
      cwd: workbench.folder,
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => {
      run.once('exit', resolve);
    });
    try {
      await eventually('the run in the store', () => {
        try {
          return reading(workbench, (store) => store.countRuns() === 1);
        } catch {
          return undefined;
        }
      });
      const dashboard = await openDashboard(workbench);
      const outcome = dashboard.getByRole('table', { name: 'Outcome' }).locator('tbody tr').first();
      const before = await eventually('the accuracy before', async () => {
        const cells = await outcome.getByRole('cell').allInnerTexts();
        return /^\d+\.\d %/u.test(cells[0] ?? '') && cells[1] === 'not measured' ? cells[0] : undefined;
      });
      await dashboard.locator('.status').getByText('running').waitFor();
      await eventually(
        'the first evaluation on the way',
        async () =>
          /, [2-9]\d* points/u.test(
            (await chart(dashboard, 'Held-out accuracy, greedy').getAttribute('aria-label')) ?? '',
          ) || undefined,
      );
      await workbench.screenshot('dashboard-live-evaluated');
      run.kill('SIGINT');
      await ended;
      await dashboard.locator('.status').getByText('cancelled').waitFor();
      const words = (cell: string | undefined): string => (cell ?? '').replaceAll(/\s/gu, '');
      await eventually('what was measured', async () => {
        const stayed = await outcome.getByRole('cell').allInnerTexts();
        assert.deepEqual([words(stayed[0]), stayed[1]], [words(before), 'not measured']);
        const rows = await tableOf(dashboard, 'Held-out accuracy, greedy');
        assert.deepEqual(rows[0]?.slice(0, 2), ['before', '0']);
        assert.deepEqual(rows.at(-1)?.slice(0, 3), ['after', '400', 'not measured']);
        return rows.some(([name]) => name === 'after step 2');
      });
      await workbench.screenshot('dashboard-cancelled-evaluated');
    } finally {
      run.kill('SIGKILL');
    }
  },
);

scenario('evaluation.every is a curve: the points, the table and c3 diagnose say the same', async (workbench) => {
  const { run } = await c3(
    workbench.folder,
    'run',
    'tiny.c3.yaml',
    '--override',
    'steps=4',
    '--override',
    'evaluation.every=1',
    '--override',
    'title=Every step',
  );
  const diagnosis = await c3(workbench.folder, 'diagnose', '--run', String(run));
  const evaluations = JSON.parse(JSON.stringify(diagnosis['evaluations'])) as readonly EvaluationPoint[];
  assert.deepEqual(
    evaluations.map(({ step }) => step),
    [0, 1, 2, 3, 4],
  );
  const dashboard = await openDashboard(workbench);
  await choose(workbench, dashboard, 'Run', 'Every step');
  for (const [title, measure] of [
    ['Held-out accuracy, greedy', 'accuracy'],
    ['Held-out pass@1, sampled', 'passAt1'],
  ] as const) {
    await eventually('its points', async () =>
      (await chart(dashboard, title).getAttribute('aria-label'))?.includes(' 5 points'),
    );
    const names = ['before', 'after step 1', 'after step 2', 'after step 3', 'after'];
    const expected = evaluations.map((point, index) => [
      names[index],
      String(point.step),
      `${(100 * (point[measure]?.value ?? NaN)).toFixed(1)} %`,
      String(point[measure]?.n),
    ]);
    await eventually(`the table of ${title}`, async () => {
      assert.deepEqual(
        (await tableOf(dashboard, title)).map((cells) => [...cells.slice(0, 3), cells.at(-1)]),
        expected,
      );
      return true;
    });
  }
  // A point leads to its episodes.
  const view = await workbench.openView('C3');
  await chart(dashboard, 'Held-out accuracy, greedy').focus();
  await workbench.page.keyboard.press('Home');
  await workbench.page.keyboard.press('ArrowRight');
  await heard(dashboard, /^after step 1, \d+\.\d % /u);
  await workbench.page.keyboard.press('Enter');
  await workbench.treeItem(view, 'Evaluation after step 1, greedy').waitFor();
  assertQuiet(workbench);
});

scenario(
  'charts run over tokens, calls or time, and on logarithmic axes, which say what they leave out',
  async (workbench) => {
    const store = openMade(storeOf(workbench.folder));
    try {
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
    } finally {
      store.close();
    }
    await workbench.runCommand('C3: Refresh');
    const dashboard = await openDashboard(workbench);
    await choose(workbench, dashboard, 'Run', 'Sums alone');
    const frame = chart(dashboard, 'Mean return');
    await eventually('all points', async () => (await frame.getAttribute('aria-label'))?.includes(' 60 points'));
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
    await figure(dashboard, 'Training credit of reasoner').getByText('What each step learned from').waitFor();
    assert.equal(await figure(dashboard, 'KL to the starting policy').getByText('stays linear').count(), 0);
    await workbench.pictures('dashboard-log', ['light', 'dark'], SCREENS, () =>
      figure(dashboard, 'Mean return').scrollIntoViewIfNeeded(),
    );
    await assertFits(dashboard, 'at 1920');
    assert.deepEqual(await findings(dashboard), []);
    await workbench.page.setViewportSize({ width: 1280, height: 800 });
    assertQuiet(workbench);
  },
);

scenario('each task has a Pareto front of its own', async (workbench) => {
  const dashboard = await workbench.webview('Run dashboard');
  await choose(workbench, dashboard, 'Scales', 'Linear axes');
  await choose(workbench, dashboard, 'Horizontal axis', 'Over steps');
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

scenario('comparing six runs fits a window of 1280 pixels', async (workbench) => {
  const store = openMade(storeOf(workbench.folder));
  try {
    for (const seed of [4, 5, 6]) {
      const title = `Long ${String(seed)}: a title as people write them who compare many runs, learning rate 0.000${String(seed)}, fan-out 2 by 4`;
      addMadeRun(store, { id: `long-${String(seed)}`, title, seed, steps: 20, accuracy: [0.5, 0.6], task: 'sums' });
    }
  } finally {
    store.close();
  }
  await workbench.runCommand('C3: Refresh');
  const dashboard = await workbench.webview('Run dashboard');
  await workbench.openView('C3');
  await workbench.page.setViewportSize({ width: 1280, height: 800 });
  await dashboard.getByText('Compare runs').click();
  for (const name of [/Sums again/u, /Code alone/u, /Long 4/u, /Long 5/u, /Long 6/u]) {
    await dashboard.getByRole('checkbox', { name }).check();
  }
  await dashboard.getByText('Compared with 5 runs').waitFor();
  await assertFits(dashboard, 'the list open');
  await workbench.screenshot('dashboard-compare-six-open');
  await workbench.page.keyboard.press('Escape');
  await eventually(
    'six runs',
    async () => (await dashboard.getByRole('list', { name: 'Runs in the charts' }).getByRole('listitem').count()) === 6,
  );
  await workbench.pictures('dashboard-compare-six', ['light', 'dark'], [...SCREENS, [900, 800]], (width) =>
    assertFits(dashboard, `at ${String(width)}`),
  );
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
  const dashboard = await workbench.webview('Run dashboard');
  await eventually(
    'six runs',
    async () => (await dashboard.getByRole('list', { name: 'Runs in the charts' }).getByRole('listitem').count()) === 6,
  );
  await choose(workbench, dashboard, 'Horizontal axis', 'Over training time');
  // Behind another editor its page is brought back only when it is seen.
  await workbench.openFile('tiny.c3.yaml');
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
