/** Runs that credit by removal (CCPO), a thinker with a solver and a team that votes: they open in every panel. */
import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, choose, chooseOption, openFromEpisodes, paneReady, reading } from './team.ts';

const COMMON = `method: ccpo
steps: 3
instances_per_step: 4
evaluator_budget: 8
evaluation: {instances: 2}
device: {threads: 1}
`;
const scenario = workbenchScenarios({
  files: {
    'pair.c3.yaml': `title: Thinker and solver\ntask: {name: hints}\nccpo: {min_samples: 4}\n${COMMON}`,
    'voters.c3.yaml': `title: Three voters\ntask: {name: logic, roles: 3}\npolicies: {voter3: {model: bundled-small}}\n${COMMON}`,
  },
});

const figure = (dashboard: FrameLocator, title: string): Locator =>
  dashboard.getByRole('figure', { name: title, exact: true });

async function openDashboard(workbench: Workbench, run: string): Promise<FrameLocator> {
  await workbench.runCommand('C3: Open run dashboard');
  const dashboard = await workbench.webview('Run dashboard');
  await workbench.page.mouse.move(700, 5);
  await chooseOption(dashboard, 'Run', run);
  return dashboard;
}

async function seeFigure(dashboard: FrameLocator, title: string, points: number): Promise<void> {
  const shown = figure(dashboard, title);
  await shown.scrollIntoViewIfNeeded();
  await eventually(`${String(points)} points of ${title}`, async () =>
    (await shown.getByRole('application').getAttribute('aria-label'))?.includes(`, ${String(points)} points,`),
  );
}

/** The question of the first training episode of a run that fits. */
function questionOf(workbench: Workbench, run: string): string {
  return reading(workbench, (store) => {
    const [episode] = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    return episode?.question ?? assert.fail();
  });
}

async function seeTaxonomy(workbench: Workbench, dashboard: FrameLocator, name: string): Promise<void> {
  await dashboard.getByRole('button', { name: 'Failure taxonomy' }).click();
  const taxonomy = await workbench.webview('Failure taxonomy');
  await taxonomy.getByRole('heading', { name: 'Cases' }).waitFor();
  await workbench.screenshot(`removal-${name}-taxonomy`);
}

scenario('a thinker and a solver: from the palette to boxes by outcome, solo rollouts and cases', async (workbench) => {
  await workbench.runCommandAndPick('C3: Start C3 run', 'pair.c3.yaml', 'Default length');
  const run = await eventually(
    'the end of the run',
    () => reading(workbench, (store) => store.runs(0, 1).find(({ status }) => status === 'done')?.id),
    180_000,
  );
  const dashboard = await openDashboard(workbench, 'Thinker and solver');
  await seeFigure(dashboard, 'Gate of the solver', 3);
  await seeFigure(dashboard, 'Contribution by agent', 3);
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
  await seeTaxonomy(workbench, dashboard, 'pair');
  const question = questionOf(workbench, run);
  await openFromEpisodes(workbench, question, 'Thinker and solver');
  const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
  await choose(transcript, 'actor');
  await workbench.screenshot('removal-transcript');
  assertQuiet(workbench);
});

scenario('a team that votes: a line for each voter, their models, its vote, and episodes', async (workbench) => {
  const run = String((await c3(workbench.folder, 'run', 'voters.c3.yaml'))['run']);
  const dashboard = await openDashboard(workbench, 'Three voters');
  const title = 'Contribution by agent';
  await seeFigure(dashboard, title, 9);
  await dashboard.getByRole('button', { name: `Table of ${title}`, exact: true }).click();
  const rows = dashboard.getByRole('table', { name: title, exact: true }).locator('tbody tr');
  assert.deepEqual(
    (await rows.allInnerTexts()).map((text) => text.split('\t').slice(0, 2).join(' ')),
    [1, 2, 3].flatMap((voter) => [1, 2, 3].map((step) => `voter${String(voter)} ${String(step)}`)),
  );
  await workbench.screenshot('removal-voters');
  await seeFigure(dashboard, 'Contribution by pairing of models', 3);
  await workbench.screenshot('removal-pairings');
  await seeTaxonomy(workbench, dashboard, 'voters');
  const question = questionOf(workbench, run);
  await openFromEpisodes(workbench, question, 'Three voters');
  const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
  await choose(transcript, 'voter1');
  await paneReady(transcript);
  const vote = transcript.getByRole('region', { name: 'Vote', exact: true });
  assert.deepEqual(await vote.getByRole('rowheader').allTextContents(), ['voter1', 'voter2', 'voter3']);
  await workbench.screenshot('removal-vote');
  assertQuiet(workbench);
});
