/** Kills of the processes that measure under `c3 grade`: one backend. */
import { BACKENDS } from '../unit/evaluate/python/support.ts';
import { gradeKillAttacks } from './kills.ts';

gradeKillAttacks({ backends: BACKENDS.slice(-1), programs: 6, grades: 1 });
