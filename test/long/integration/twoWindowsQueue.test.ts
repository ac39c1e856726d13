/** Two windows see one engine: its run, its queue, and what each cancels. */

import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { configOf, status, whileStill } from '../../integration/outlives.ts';
import { reading } from '../../integration/team.ts';
import { SHORT_REPLAYS } from '../../integration/turns.ts';

/** Steps of a run that is to be cancelled: however busy the machine is, it has not ended before. */
const ENDLESS = 5_000;

const scenario = workbenchScenarios({
  ...SHORT_REPLAYS,
  files: { 'endless.c3.yaml': configOf('Endless', ENDLESS), 'next.c3.yaml': configOf('Next', 36) },
});

scenario(
  'a second window sees the run, queues another one and cancels both; c3 status lists them from outside',
  async (workbench) => {
    const second = await workbench.openSecondWindow();
    await second.openView('C3');
    await workbench.openView('C3');
    await workbench.runCommandAndPick('C3: Start C3 run', 'endless.c3.yaml', 'Default length');
    await workbench.statusBarItem('training, step').waitFor({ timeout: 120_000 });
    await second.statusBarItem('training, step').waitFor({ timeout: 120_000 });
    await second.runCommandAndPick('C3: Start C3 run', 'next.c3.yaml', 'Default length');
    await second.notification('queued: "Next"').waitFor();
    await workbench.statusBarItem('1 queued').waitFor();
    const waiting = workbench.treeItem(await workbench.openView('C3'), /Next.*queued/u);
    await waiting.waitFor();
    await second.screenshot('detached-queued');
    const { jobs } = await status(workbench);
    assert.deepEqual(
      jobs.filter(({ state }) => state !== 'finished').map(({ title, state }) => [title, state]),
      [
        ['Endless', 'running'],
        ['Next', 'queued'],
      ],
    );
    await waiting.hover();
    await waiting.getByRole('button', { name: 'Cancel run' }).click();
    await waiting.waitFor({ state: 'detached' });
    await workbench.statusBarItem('1 queued').waitFor({ state: 'detached' });
    await whileStill(workbench, () => second.runCommand('C3: Cancel run'));
    for (const window of [workbench, second]) {
      await window.statusBarItem('C3:').waitFor({ state: 'detached', timeout: 120_000 });
    }
    await eventually(
      'the cancelled run in the store',
      () => reading(workbench, (store) => store.runs(0, 1)[0]?.status) === 'cancelled',
    );
    assert.ok(reading(workbench, (store) => store.runs(0, 1)[0]?.steps ?? 0) < ENDLESS);
  },
);
