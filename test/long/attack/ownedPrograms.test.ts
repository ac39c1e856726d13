/** Owners of hostile programs and interpreters, each ended a few times in each way. */

import { ownedAttacks } from '../../attack/ownedPrograms.ts';
import { OWNER_KINDS } from '../../attack/owners.ts';

ownedAttacks({ kinds: OWNER_KINDS, ends: 6, together: 2 });
