/** Kills of the processes that measure: all scenarios, stops and backends, until 100 kills under runs were tried. */
import { ALL_SCENARIOS, killAttacks } from '../../attack/kills.ts';
import { BACKENDS } from '../../unit/evaluate/python/support.ts';

killAttacks({
  steps: 2,
  instances: 3,
  evaluated: 4,
  scenarios: ALL_SCENARIOS,
  kills: 100,
  stops: 20,
  backends: BACKENDS,
  programs: 40,
  grades: 3,
});
