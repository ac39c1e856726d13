/** A run outlives what looks at it: a reload, a killed extension host and a closed window. */

import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { configOf, outlives } from '../../integration/outlives.ts';

const STEPS = 12;

const scenario = workbenchScenarios({
  // Its extension hosts are killed.
  server: {},
  files: { 'outlives.c3.yaml': configOf('Outlives', STEPS) },
});

scenario(
  'a run continues over a reload, a killed extension host and a closed window, and ends with the weights of an undisturbed one',
  (workbench) => outlives(workbench, { steps: STEPS, times: 1, held: true }),
);
