/** Kills of the processes that measure under a run: all scenarios and stops, until 100 kills were tried. */

import { ALL_SCENARIOS, runKillAttacks } from '../../attack/kills.ts';

runKillAttacks({
  steps: 2,
  instances: 3,
  evaluated: 4,
  scenarios: ALL_SCENARIOS,
  kills: 100,
  stops: 20,
  compared: true,
});
