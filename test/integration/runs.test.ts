/** Starting and watching runs, with the real engine. */

import assert from 'node:assert/strict';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { ALONE, ENDED, start } from './startedRuns.ts';
import { assertQuiet, storeOf } from './team.ts';

const scenario = workbenchScenarios({
  files: { 'tiny.c3.yaml': ALONE, 'wrong.c3.yaml': 'title: Wrong\nmodel: away\n' },
});

scenario(
  'an empty workspace says what to do, and its button starts a run that ends in the tree and the dashboard',
  async (workbench) => {
    const view = await workbench.openView('C3');
    await workbench.screenshot('welcome');
    await view.getByRole('button', { name: 'Start C3 run' }).click();
    await workbench.pick('tiny.c3.yaml');
    // They are there for as long as the run takes, which is not long.
    await Promise.all([
      workbench.notification('C3 run').waitFor(),
      workbench.statusBarItem('C3:').waitFor(),
      workbench.pick('Default length'),
    ]);
    await workbench.notification('The run ended').waitFor({ timeout: ENDED });
    await workbench.answerNotification('The run ended', 'Open run dashboard');
    const dashboard = await workbench.webview('Run dashboard');
    const store = openStoreForReading(storeOf(workbench.folder));
    const [record] = store.runs(0, 10);
    const steps = store.steps(record?.id ?? '', 0, 10);
    store.close();
    assert.ok(record?.summary?.accuracy.before);
    await dashboard
      .getByRole('cell', { name: `${(100 * record.summary.accuracy.before.value).toFixed(1)} %` })
      .first()
      .waitFor();
    await dashboard.getByRole('button', { name: 'Table of Mean return' }).click();
    await dashboard.getByRole('rowheader', { name: '2', exact: true }).waitFor();
    assert.equal(await dashboard.getByRole('table', { name: 'Mean return' }).locator('tbody tr').count(), steps.length);
    await dashboard
      .getByRole('cell', { name: (steps[1]?.metrics?.meanReturn ?? NaN).toFixed(3), exact: true })
      .first()
      .waitFor();
    await workbench.statusBarItem('C3:').waitFor({ state: 'detached' });
    await workbench.treeItem(view, 'Tiny').click();
    for (const round of ['Evaluation before, greedy', 'Step 1', 'Step 2', 'Evaluation after, sampled']) {
      await workbench.treeItem(view, round).waitFor();
    }
    await workbench.screenshot('dashboard');
    assertQuiet(workbench);
  },
);

scenario('a configuration that cannot be run says why in one line, with the way to the log', async (workbench) => {
  await start(workbench, 'wrong.c3.yaml');
  const notification = workbench.notification('no such folder');
  await notification.waitFor();
  assert.match(await notification.innerText(), /wrong\.c3\.yaml, line 2: model: There is no such folder: \S*away/su);
  await workbench.answerNotification('no such folder', 'Show log');
  await eventually('the log with the same line', async () =>
    (await workbench.page.locator('.part.panel .view-line').allInnerTexts()).some((line) =>
      // An editor shows spaces that do not break.
      /no.such.folder/u.test(line),
    ),
  );
});
