/** Attacks by a program in a sandbox: a sample of each kind. */

import { BACKENDS } from '../unit/evaluate/python/support.ts';
import { sandboxAttacks } from './sandbox.ts';

sandboxAttacks({ answers: 4, deedsApart: 31, drawnLooks: 0, looks: 1, traced: BACKENDS.slice(-1), pairs: 3 });
