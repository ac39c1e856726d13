/** A run that credits by removal (CCPO), started from the window, in all themes. */

import assert from 'node:assert/strict';
import { figure } from '../../integration/dashboardPanel.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { openFirstTranscript, openRun, seeFigure, seeTaxonomy } from '../../integration/removalRuns.ts';
import { assertQuiet, choose, reading } from '../../integration/team.ts';
import { THINKER } from '../../support/recordings.ts';

const scenario = workbenchScenarios({ files: { 'pair.c3.yaml': THINKER } });

scenario('a thinker and a solver: from the palette to boxes by outcome, solo rollouts and cases', async (workbench) => {
  await workbench.runCommandAndPick('C3: Start C3 run', 'pair.c3.yaml', 'Default length');
  const run = await eventually(
    'the end of the run',
    () => reading(workbench, (store) => store.runs(0, 1).find(({ status }) => status === 'done')?.id),
    180_000,
  );
  await seeThinker(workbench, run);
});

/** A thinker and a solver of three steps: boxes by outcome, solo rollouts and cases. */
async function seeThinker(workbench: Workbench, run: string): Promise<void> {
  const dashboard = await openRun(workbench, 'Thinker and solver');
  await seeFigure(dashboard, 'Gate of the solver', 3);
  await seeFigure(dashboard, 'Contribution by role', 3);
  const title = 'Credit of reasoner by outcome';
  await figure(dashboard, title).scrollIntoViewIfNeeded();
  await dashboard.getByRole('button', { name: `Table of ${title}`, exact: true }).click();
  const rows = dashboard.getByRole('table', { name: title, exact: true }).locator('tbody tr');
  await eventually('a row for each box', async () => (await rows.count()) === 8);
  // Every rollout of training is in one outcome, with and without the thinker.
  const counts = (await rows.allInnerTexts()).map((text) => Number(text.split('\t')[1]));
  assert.deepEqual(
    [0, 1].map((first) => counts.filter((_, row) => row % 2 === first).reduce((sum, one) => sum + one, 0)),
    [3 * 4 * 4, 3 * 4 * 4],
  );
  await rows.nth(3).scrollIntoViewIfNeeded();
  for (const theme of ['light', 'highContrast', 'dark'] as const) {
    await workbench.screenshot('removal-outcomes', theme);
  }
  await seeTaxonomy(workbench, dashboard);
  const transcript = await openFirstTranscript(workbench, run, 'Thinker and solver');
  await choose(transcript, 'actor');
  assertQuiet(workbench);
}
