/** A run that credits by removal (CCPO), of a team that votes: it opens in every panel. */

import assert from 'node:assert/strict';
import { workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { openFirstTranscript, openRun, seeFigure, seeTaxonomy } from '../../integration/removalRuns.ts';
import { assertQuiet, choose, paneReady, reading } from '../../integration/team.ts';

const scenario = workbenchScenarios({ recording: 'removal' });

function runOf(workbench: Workbench, title: string): string {
  return reading(
    workbench,
    (store) => store.runs(0, 2).find((run) => run.title === title)?.id ?? assert.fail(`no run "${title}"`),
  );
}

scenario('a team that votes: a line for each voter, their models, its vote, and episodes', async (workbench) => {
  const dashboard = await openRun(workbench, 'Three voters');
  const title = 'Contribution by role';
  await seeFigure(dashboard, title, 9);
  await dashboard.getByRole('button', { name: `Table of ${title}`, exact: true }).click();
  const rows = dashboard.getByRole('table', { name: title, exact: true }).locator('tbody tr');
  assert.deepEqual(
    (await rows.allInnerTexts()).map((text) => text.split('\t').slice(0, 2).join(' ')),
    [1, 2, 3].flatMap((voter) => [1, 2, 3].map((step) => `voter${voter} ${step}`)),
  );
  await seeFigure(dashboard, 'Contribution by pairing of models', 3);
  await workbench.screenshot('removal-pairings');
  await seeTaxonomy(workbench, dashboard);
  const transcript = await openFirstTranscript(workbench, runOf(workbench, 'Three voters'), 'Three voters');
  await choose(transcript, 'voter1');
  await paneReady(transcript);
  const vote = transcript.getByRole('region', { name: 'Vote', exact: true });
  assert.deepEqual(await vote.getByRole('rowheader').allTextContents(), ['voter1', 'voter2', 'voter3']);
  // The row of a voter shows what training credited; the pane shows it beside the credit of the comparison.
  const selected = transcript.locator('[role="treeitem"][aria-selected="true"]');
  const [, credited = ''] =
    /training credit ([+\u2212]?\d\.\d\d)/u.exec((await selected.getAttribute('aria-label')) ?? '') ?? [];
  const fact = transcript.locator('.facts').first().getByText('Training credit').locator('xpath=following-sibling::dd');
  assert.ok((await fact.first().innerText()).startsWith(credited) && credited !== '', credited);
  await workbench.screenshot('removal-vote');
  assertQuiet(workbench);
});
