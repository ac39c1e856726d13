/** Several runs: the runs table, and the problems of a run that has many. */

import { manyProblemScenarios } from './episodesMany.ts';
import { withEpisodes } from './episodesPanel.ts';
import { addComparedRuns, addManyProblems, fillEpisodes } from './episodesStore.ts';
import { workbenchScenarios } from './harness/workbench.ts';
import { chooseTwoRuns } from './runsTable.ts';
import { assertQuiet } from './team.ts';

const PROBLEMS = 2000;

const scenario = workbenchScenarios();

scenario('the runs table compares, searches, sorts, and says what was chosen', async (workbench) => {
  await withEpisodes(workbench, (writer) => {
    fillEpisodes(writer);
    addComparedRuns(writer);
    addManyProblems(writer, 'many', PROBLEMS);
    writer.updateRunStatus('many', 'done', '2026-01-03T00:00:00.000Z', null);
  });
  await chooseTwoRuns(workbench);
  assertQuiet(workbench);
});

manyProblemScenarios(scenario, PROBLEMS);
