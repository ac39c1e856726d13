/** A run that credits by removal (CCPO), started from the window, in all themes. */
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { seeThinker } from '../../integration/removalRuns.ts';
import { reading } from '../../integration/team.ts';
import { THINKER } from '../../support/recordings.ts';

const scenario = workbenchScenarios({ files: { 'pair.c3.yaml': THINKER } });

scenario('a thinker and a solver: from the palette to boxes by outcome, solo rollouts and cases', async (workbench) => {
  await workbench.runCommandAndPick('C3: Start C3 run', 'pair.c3.yaml', 'Default length');
  const run = await eventually(
    'the end of the run',
    () => reading(workbench, (store) => store.runs(0, 1).find(({ status }) => status === 'done')?.id),
    180_000,
  );
  await seeThinker(workbench, run, ['light', 'highContrast', 'dark']);
});
