/** Attacks with stores: all of each kind. */

import { storeAttacks } from '../../attack/store.ts';

storeAttacks({ planted: Infinity, plantedInOlder: Infinity, circles: Infinity });
