/** Kills of the processes that measure under a run: one scenario. */

import { EVERY_MAKER, runKillAttacks } from './kills.ts';

runKillAttacks({ steps: 1, instances: 1, evaluated: 1, scenarios: [EVERY_MAKER], kills: 0, stops: 0, compared: false });
