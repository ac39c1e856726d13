/** A run that credits by removal (CCPO), in every panel. */
import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { choose as chooseEntry, chart, figure, openDashboard } from './dashboardPanel.ts';
import { eventually, type Theme, type Workbench } from './harness/workbench.ts';
import { assertQuiet, choose, openFromEpisodes, reading } from './team.ts';

/** The dashboard of a run. */
export async function openRun(workbench: Workbench, run: string): Promise<FrameLocator> {
  const dashboard = await openDashboard(workbench);
  await chooseEntry(workbench, dashboard, 'Run', run);
  return dashboard;
}

/** Waits for a chart with so many points and no more. */
export async function seeFigure(dashboard: FrameLocator, title: string, points: number): Promise<void> {
  await figure(dashboard, title).scrollIntoViewIfNeeded();
  await eventually(`${String(points)} points of ${title}`, async () =>
    (await chart(dashboard, title).getAttribute('aria-label'))?.includes(`, ${String(points)} points,`),
  );
}

/** The failure taxonomy, by way of the dashboard. */
export async function seeTaxonomy(workbench: Workbench, dashboard: FrameLocator): Promise<void> {
  await dashboard.getByRole('button', { name: 'Failure taxonomy' }).click();
  const taxonomy = await workbench.webview('Failure taxonomy');
  await taxonomy.getByRole('heading', { name: 'Cases' }).waitFor();
}

/** The transcript of the first training episode of a run, by way of its episodes. */
export async function openFirstTranscript(workbench: Workbench, run: string, title: string): Promise<FrameLocator> {
  const question = reading(workbench, (store) => {
    const [episode] = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    return episode?.question ?? assert.fail();
  });
  await openFromEpisodes(workbench, question, title);
  return workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
}

/**
 * A thinker and a solver of three steps: boxes by outcome, solo rollouts and cases.
 * @param themes of pictures for people
 */
export async function seeThinker(workbench: Workbench, run: string, themes: readonly Theme[]): Promise<void> {
  const dashboard = await openRun(workbench, 'Thinker and solver');
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
  for (const theme of themes) {
    await workbench.screenshot('removal-outcomes', theme);
  }
  await seeTaxonomy(workbench, dashboard);
  const transcript = await openFirstTranscript(workbench, run, 'Thinker and solver');
  await choose(transcript, 'actor');
  assertQuiet(workbench);
}
