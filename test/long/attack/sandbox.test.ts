/** Attacks by a program in a sandbox: all of each kind. */

import { sandboxAttacks } from '../../attack/sandbox.ts';
import { BACKENDS } from '../../unit/evaluate/python/support.ts';

sandboxAttacks({ answers: 400, deedsApart: 1, drawnLooks: 20, looks: Infinity, traced: BACKENDS, pairs: 500 });
