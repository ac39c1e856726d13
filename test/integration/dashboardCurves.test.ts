/** The dashboard's curves in a real VS Code: evaluations at once and on the way. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { EvaluationPoint } from '../../src/shared/records/evaluations.ts';
import { chart, choose, heard, openDashboard, seePoints, tableOf } from './dashboardPanel.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, c3, reading, storeOf } from './team.ts';

const scenario = workbenchScenarios({ recording: 'everyStep' });
const CLI = join(import.meta.dirname, '..', '..', 'dist', 'cli.js');

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
  'what was measured before training shows while the run continues, and stays after it was cancelled',
  async (workbench) => {
    const view = await workbench.openView('C3');
    const dashboard = await openDashboard(workbench);
    const config = ['--override', 'steps=400', '--override', 'evaluation.every=2', '--override', 'title=Stopped'];
    const run = spawn(process.execPath, [CLI, 'run', 'tiny.c3.yaml', ...config, '--store', storeOf(workbench.folder)], {
      cwd: workbench.folder,
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => {
      run.once('exit', resolve);
    });
    try {
      await eventually('what was evaluated after step 2', () =>
        reading(workbench, (store) => {
          const id = store.runs(0, 2).find(({ title }) => title === 'Stopped')?.id ?? '';
          return store.steps(id, 0, 3).filter(({ metrics }) => metrics !== null).length === 3;
        }),
      );
      // It waits until the window has looked: how far it comes does not depend on how fast that is.
      run.kill('SIGSTOP');
      await workbench.treeItem(view, 'Stopped').waitFor();
      await choose(workbench, dashboard, 'Run', 'Stopped');
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
      run.kill('SIGINT');
      run.kill('SIGCONT');
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
