/** The dashboard's curves in a real VS Code: evaluations of a run that continues, and is cancelled. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { chart, choose, openDashboard, tableOf } from '../../integration/dashboardPanel.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { reading, storeOf } from '../../integration/team.ts';

const scenario = workbenchScenarios({ recording: 'everyStep' });
const CLI = join(import.meta.dirname, '..', '..', '..', 'dist', 'cli.js');

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
    const ended = new Promise((resolve) => run.once('exit', resolve));
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
