/** Attacks with pages of a store: all of each kind. */

import { storePagesAttacks } from '../../attack/storePages.ts';

storePagesAttacks({ endless: Infinity });
