/** The run dashboard in a real VS Code: evaluations as a curve, and a long run, in charts, tables and copies. */

import assert from 'node:assert/strict';
import type { EvaluationPoint } from '../../src/domain/evaluation.ts';
import { chart, choose, heard, openDashboard, seePoints, tableOf } from './dashboardPanel.ts';
import { longRunScenario } from './dashboardRuns.ts';
import { row } from './episodesPanel.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, c3, hasFocus, reading } from './team.ts';

const scenario = workbenchScenarios({ recording: 'everyStep' });

scenario('evaluation.every is a curve: the points, the table and c3 diagnose say the same', async (workbench) => {
  const run = reading(workbench, (store) => store.runs(0, 1)[0]?.id);
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
    await seePoints(dashboard, title, 5);
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
  'what loses episodes is asked for with a button: the sentence first, shares that add up',
  async (workbench) => {
    await workbench.page.setViewportSize({ width: 1280, height: 720 });
    const dashboard = await openDashboard(workbench);
    await choose(workbench, dashboard, 'Run', 'Every step');
    const losses = dashboard.getByRole('region', { name: 'What loses episodes' });
    await losses.getByRole('button', { name: 'Find what loses episodes' }).press('Enter');
    await losses.getByText(/^Of \d+ lost episodes \d+ \[\d+, \d+\] (?:was|were) within reach/u).waitFor();
    await losses.getByRole('button', { name: 'Search further' }).waitFor();
    // The keyboard is where the answer begins, which the header does not hide.
    const heading = losses.getByRole('heading', { name: 'What loses episodes' });
    await eventually('the keyboard where the answer came', () => hasFocus(heading));
    const [head, begin] = [await dashboard.locator('.panel-head').boundingBox(), await heading.boundingBox()];
    assert.ok(head !== null && begin !== null && begin.y >= head.y + head.height);
    const shares = (await losses.getByRole('row').allTextContents()).map((row) =>
      Number(/(-?\d+) %/u.exec(row)?.[1] ?? NaN),
    );
    assert.ok(shares.length === 0 || Math.abs(shares.reduce((sum, one) => sum + one, 0) - 100) <= 1, shares.join(' '));
    if (shares.length > 0) {
      await losses.getByRole('button', { name: 'within reach' }).focus();
      await dashboard
        .getByRole('tooltip')
        .getByText(/would win on average/u)
        .waitFor();
    }
    await workbench.screenshot('losses');
    await workbench.page.setViewportSize({ width: 1400, height: 900 });
    const run = reading(workbench, (store) => store.runs(0, 1)[0]?.id ?? assert.fail());
    assert.ok(reading(workbench, (store) => store.countBuckets({ run, origin: 'request' })) > 0, 'replays are stored');
    // Answers are remembered.
    await workbench.closeEditor();
    const again = await openDashboard(workbench);
    await again
      .getByText(/within reach/u)
      .first()
      .waitFor();
    // The list of episodes says it of each problem, what is decided first.
    await workbench.runCommand('C3: Open episodes');
    const episodes = await workbench.webview('Episodes');
    await episodes.locator('[role="columnheader"][aria-sort="descending"]').getByText('Lost by').waitFor();
    const labelOf = (cell: string): Promise<string | null> =>
      row(episodes, 1).locator(`.cell-${cell}`).getAttribute('aria-label');
    assert.match((await labelOf('lostBy')) ?? '', /^(?:lost by |rarely solved by this team|undecided)/u);
    assert.match((await labelOf('chance')) ?? '', /^chance at the start \d+ % \[\d+, \d+\], n = \d+$/u);
    await workbench.screenshot('episodes-losses');
    assertQuiet(workbench);
  },
);

longRunScenario(scenario, 200);
