/** A run outlives what looks at it: reloads, killed extension hosts and a closed window. */

import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { configOf, outlives } from '../../integration/outlives.ts';

const STEPS = 36;

const scenario = workbenchScenarios({
  // Its extension hosts are killed.
  server: {},
  files: { 'outlives.c3.yaml': configOf('Outlives', STEPS) },
});

scenario(
  'a run continues over reloads, killed extension hosts and a closed window, and ends with the weights of an undisturbed one',
  (workbench) => outlives(workbench, { steps: STEPS, times: 5, held: false }),
);
