/** A message of each kind of team is replayed, and its whole run verified; one of them is started from the palette. */

import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { reading } from '../../integration/team.ts';
import { teamScenarios } from '../../integration/teams.ts';

const scenario = workbenchScenarios({
  recording: 'teams',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});

teamScenarios(scenario, {
  shown: ['feedback', 'turns', 'calculator', 'voters', 'policy'],
  replayed: true,
  picture: async (workbench, name) => {
    for (const theme of ['light', 'highContrast', 'dark'] as const) {
      await workbench.screenshot(name, theme);
    }
  },
});

scenario('a tree of functions in turns is started from the palette', async (workbench) => {
  const before = reading(workbench, (store) => store.runs(0, 10).length);
  await workbench.runCommandAndPick('C3: Start C3 run', 'turns.c3.yaml', 'Default length');
  const [newest] = await eventually(
    'the end of the run',
    () =>
      reading(workbench, (store) => {
        const runs = store.runs(0, 10);
        return runs.length > before && runs[0]?.status === 'done' ? runs : undefined;
      }),
    180_000,
  );
  assert.equal(newest?.title, 'Functions in turns');
});
