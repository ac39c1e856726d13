/** Kills of the processes that measure: one scenario of kills, one stop, and one backend of `c3 grade`. */
import { BACKENDS } from '../unit/evaluate/python/support.ts';
import { killAttacks, ONE_SCENARIO } from './kills.ts';

killAttacks({
  steps: 1,
  instances: 2,
  evaluated: 2,
  scenarios: ONE_SCENARIO,
  kills: 0,
  stops: 1,
  backends: BACKENDS.slice(-1),
  programs: 16,
  grades: 1,
});
