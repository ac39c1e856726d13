/** Kills of the processes that measure under `c3 grade`: all backends. */

import { gradeKillAttacks } from '../../attack/kills.ts';
import { BACKENDS } from '../../unit/evaluate/python/support.ts';

gradeKillAttacks({ backends: BACKENDS, programs: 40, grades: 3 });
