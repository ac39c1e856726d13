/** Attacks with returns: all of each kind. */

import { creditAttacks } from '../../attack/credit.ts';

creditAttacks({ requests: 1_000, alternatives: 3_000, groups: 3_000 });
