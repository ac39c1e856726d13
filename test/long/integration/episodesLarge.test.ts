/** The episodes of a run of 100,000 problems, and pictures of the panels of episodes and runs in all themes. */

import assert from 'node:assert/strict';
import { manyProblemScenarios } from '../../integration/episodesMany.ts';
import { allFindings, listed, openGrid, withEpisodes } from '../../integration/episodesPanel.ts';
import { addComparedRuns, addManyProblems, fillEpisodes } from '../../integration/episodesStore.ts';
import { SCREENS, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { RUN } from '../../unit/extension/storeFixture.ts';

const PROBLEMS = 100_000;

const scenario = workbenchScenarios();

scenario('axe-core finds nothing serious in dark, light and high contrast, wide and narrow', async (workbench) => {
  await withEpisodes(workbench, (writer) => {
    fillEpisodes(writer);
    addComparedRuns(writer);
    addManyProblems(writer, 'many', PROBLEMS);
    writer.updateRunStatus('many', 'done', '2026-01-03T00:00:00.000Z', null);
  });
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, `Run ${RUN}`).click();
  await listed(await workbench.webview('Episodes'), '40 problems');
  const panel = await openGrid(workbench);
  await workbench.pictures('episodes', ['light', 'dark'], SCREENS);
  const grave: string[] = [];
  for (const theme of ['dark', 'light', 'highContrast'] as const) {
    await workbench.setTheme(theme);
    for (const width of [1400, 800]) {
      await workbench.page.setViewportSize({ width, height: 900 });
      grave.push(...(await allFindings(panel, `${theme} ${width}`)));
    }
    await workbench.screenshot('episodes-narrow', theme);
  }
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
  assert.equal(grave.join('\n'), '');
});

scenario('pictures of the runs table', async (workbench) => {
  await workbench.runCommand('C3: Open runs table');
  const table = await workbench.webview('Runs table');
  await table.getByText(/^5 runs, \d+ settings differ$/u).waitFor();
  await workbench.pictures('runs-table', ['light', 'dark'], SCREENS);
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
});

manyProblemScenarios(scenario, PROBLEMS);
