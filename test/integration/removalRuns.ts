/** A run that credits by removal (CCPO), in every panel. */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { choose, chart, figure, openDashboard } from './dashboardPanel.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { openFromEpisodes, reading } from './team.ts';

/** The dashboard of a run. */
export async function openRun(workbench: Workbench, run: string): Promise<FrameLocator> {
  const dashboard = await openDashboard(workbench);
  await choose(workbench, dashboard, 'Run', run);
  return dashboard;
}

/** Waits for a chart with so many points and no more. */
export async function seeFigure(dashboard: FrameLocator, title: string, points: number): Promise<void> {
  await figure(dashboard, title).scrollIntoViewIfNeeded();
  await eventually(`${points} points of ${title}`, async () =>
    (await chart(dashboard, title).getAttribute('aria-label'))?.includes(`, ${points} points,`),
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
