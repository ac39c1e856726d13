/** Two windows and the command line see one store and one engine. */
import assert from 'node:assert/strict';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { configOf, status, whileStill } from './outlives.ts';
import { reading } from './team.ts';
import { SHORT_REPLAYS, takeTurns } from './turns.ts';

/** Steps of a run that is to be cancelled: however busy the machine is, it has not ended before. */
const ENDLESS = 5_000;

const scenario = workbenchScenarios({
  ...SHORT_REPLAYS,
  files: { 'endless.c3.yaml': configOf('Endless', ENDLESS), 'next.c3.yaml': configOf('Next', 36) },
});

let opened: Promise<Workbench> | undefined;

/** The second window, opened on first use. */
function secondOf(workbench: Workbench): Promise<Workbench> {
  opened ??= workbench.openSecondWindow();
  return opened;
}

scenario(
  'two idle windows do not hold up a run of the command line, and replays asked for in turn by both all come',
  async (workbench) => {
    await takeTurns(workbench, await secondOf(workbench), 1, ['steps=0', 'evaluation.instances=2']);
  },
);

scenario(
  'a second window sees the run, queues another one and cancels both; c3 status lists them from outside',
  async (workbench) => {
    const second = await secondOf(workbench);
    for (const window of [workbench, second]) {
      await window.closeAllEditors();
    }
    await second.openView('C3');
    await workbench.openView('C3');
    await workbench.runCommandAndPick('C3: Start C3 run', 'endless.c3.yaml', 'Default length');
    await workbench.statusBarItem('training, step').waitFor({ timeout: 120_000 });
    await second.statusBarItem('training, step').waitFor({ timeout: 120_000 });
    await second.runCommandAndPick('C3: Start C3 run', 'next.c3.yaml', 'Default length');
    await second.notification('"Next" is queued: it starts after "Endless"').waitFor();
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
