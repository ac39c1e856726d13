/** Runs that are cancelled, cut off and resumed, the dashboard of one after a reload, and what this machine can do. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunRecord } from '../../../src/domain/run.ts';
import { openStoreForReading } from '../../../src/store/read/reader.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { configOf, engineOf, whileStill } from '../../integration/outlives.ts';
import { ALONE, ENDED, start } from '../../integration/startedRuns.ts';
import { reloadWindow, storeOf } from '../../integration/team.ts';

const QUESTIONS = [2, 3, 4, 5]
  .map((number) => JSON.stringify({ question: `What is ${number} + 1?`, answer: String(number + 1) }))
  .join('\n');
/** Stopped twice on its way, on questions of its own that can be changed meanwhile. */
const STEPS = 16;
const STOPPED = configOf('Stopped', STEPS).concat('checkpoint_every: 2\ntask: { train_file: questions.jsonl }\n');

const scenario = workbenchScenarios({
  files: {
    'tiny.c3.yaml': ALONE,
    'long.c3.yaml': ALONE.replace('Tiny', 'Long').replace('steps: 2', 'steps: 500'),
    'stopped.c3.yaml': STOPPED,
    'questions.jsonl': QUESTIONS,
  },
});

/** The run of a title. */
function runTitled(workbench: Workbench, title: string): RunRecord | undefined {
  const store = openStoreForReading(storeOf(workbench.folder));
  try {
    return store.runs(0, 10).find((run) => run.title === title);
  } finally {
    store.close();
  }
}

scenario('the dashboard follows the theme and comes back after a reload', async (workbench) => {
  const view = await workbench.openView('C3');
  await start(workbench, 'tiny.c3.yaml');
  await workbench.notification('The run ended').waitFor({ timeout: ENDED });
  await workbench.answerNotification('The run ended', 'Open run dashboard');
  await (await workbench.webview('Run dashboard')).getByRole('button', { name: 'Table of Mean return' }).click();
  await workbench.treeItem(view, 'Tiny').click();
  await reloadWindow(workbench);
  // The episodes of the run that was clicked are in front.
  await workbench.tab('Run dashboard').click();
  const dashboard = await workbench.webview('Run dashboard');
  await dashboard.getByRole('heading', { name: 'Run dashboard' }).waitFor();
  await dashboard.getByRole('table', { name: 'Mean return' }).waitFor();
});

scenario('a run says what remains of it wherever it shows; one that is cancelled is no failure', async (workbench) => {
  const view = await workbench.openView('C3');
  await workbench.runCommandAndPick('C3: Start C3 run', 'long.c3.yaml');
  // Both lengths say what they would take before one is chosen; the run of the scenario before had another number of
  // steps.
  const lengths = workbench.page.locator('.quick-input-widget:visible .monaco-list-row');
  await lengths
    .filter({ hasText: 'Default length' })
    .filter({ hasText: /About .* from an earlier run like it/u })
    .waitFor();
  await lengths
    .filter({ hasText: 'Quick' })
    .filter({ hasText: /About .* from an earlier run like it/u })
    .waitFor();
  await workbench.screenshot('lengths');
  await workbench.pick('Default length');
  await workbench.notification(/C3 run.*(about \d+ (s|min|h)|a few seconds).* left/su).waitFor();
  await workbench.statusBarItem(/training, step \d+ of 500, return [\d.]+, about \d+ (s|min) left/u).waitFor();
  await workbench.treeItem(view, /Long.*\d+ of 500 steps, about \d+ (s|min) left/su).waitFor();
  await workbench.treeItem(view, 'Long').hover();
  await workbench.treeItem(view, 'Long').getByRole('button', { name: 'Open run dashboard' }).click();
  const dashboard = await workbench.webview('Run dashboard');
  await dashboard.getByText(/training, step \d+ of 500, about \d+ (s|min) left/u).waitFor();
  await workbench.screenshot('remaining');
  await whileStill(workbench, () => workbench.runCommand('C3: Cancel run'));
  await workbench.statusBarItem('C3:').waitFor({ state: 'detached' });
  await workbench.treeItem(view, 'Long').waitFor();
  await eventually('the cancelled run in the store', () => runTitled(workbench, 'Long')?.status === 'cancelled');
  assert.equal(await workbench.notification(/cancel|fail|error/iu).count(), 0);
});

scenario('a run that was cancelled, and then cut off by a killed engine, is resumed to its end', async (workbench) => {
  const view = await workbench.openView('C3');
  const row = workbench.treeItem(view, 'Stopped');
  await start(workbench, 'stopped.c3.yaml');
  await eventually('steps of the run', () => (runTitled(workbench, 'Stopped')?.steps ?? 0) > 1, ENDED);
  await whileStill(workbench, async () => {
    await workbench.statusBarItem('training, step').waitFor();
    await workbench.runCommand('C3: Cancel run');
  });
  await workbench.treeItem(view, /Stopped.*cancelled, \d+ of 16 steps/su).waitFor();
  await workbench.statusBarItem('C3:').waitFor({ state: 'detached' });
  const cancelled = runTitled(workbench, 'Stopped');

  const questions = join(workbench.folder, 'questions.jsonl');
  await writeFile(questions, QUESTIONS.replace('2 + 1', '1 + 2'));
  await row.hover();
  await row.getByRole('button', { name: 'Resume run' }).click();
  await workbench
    .notification(/cannot be resumed: the training problems in .*questions\.jsonl have changed/su)
    .waitFor();
  assert.deepEqual(runTitled(workbench, 'Stopped'), cancelled);
  await writeFile(questions, QUESTIONS);

  await workbench.runCommandAndPick('C3: Resume run', 'Stopped');
  await eventually(
    'a step after the ones that were there',
    () => (runTitled(workbench, 'Stopped')?.steps ?? 0) > (cancelled?.steps ?? 0),
  );
  // As a crash does.
  process.kill(engineOf(workbench), 'SIGKILL');
  await workbench.treeItem(view, /Stopped.*interrupted, \d+ of 16 steps/su).waitFor();
  await workbench.statusBarItem('C3:').waitFor({ state: 'detached' });
  assert.equal(runTitled(workbench, 'Stopped')?.status, 'running', 'the store keeps what was written last');
  await workbench.runCommand('Notifications: Clear All Notifications');
  await row.hover();
  await row.getByRole('button', { name: 'Open run dashboard' }).click();
  const dashboard = await workbench.webview('Run dashboard');
  await dashboard.getByText('interrupted', { exact: true }).waitFor();
  await workbench.screenshot('interrupted');

  await dashboard.getByRole('button', { name: 'Resume run' }).click();
  await workbench.confirm('Resume');
  await workbench.notification('C3 run').waitFor();
  await dashboard.getByText(/step 16 of 16/u).waitFor({ timeout: ENDED });
  await workbench.notification('The run ended').waitFor({ timeout: ENDED });
  await workbench.answerNotification('The run ended', 'Open run dashboard');
  await workbench.screenshot('resumed');
  const done = runTitled(workbench, 'Stopped');
  assert.deepEqual([done?.id, done?.status, done?.steps], [cancelled?.id, 'done', STEPS]);
  await workbench.treeItem(view, /Stopped.*16 of 16 steps/su).hover();
  assert.equal(await row.getByRole('button', { name: 'Resume run' }).count(), 0, 'a finished run cannot be resumed');
});

scenario('the doctor reports what this machine can do', async (workbench) => {
  await workbench.runCommand('C3: Check this machine (doctor)');
  const lines = workbench.page.locator('.editor-instance .view-line');
  await lines.filter({ hasText: 'C3 doctor' }).waitFor({ timeout: ENDED });
  await lines.filter({ hasText: 'cpu' }).first().waitFor();
});
