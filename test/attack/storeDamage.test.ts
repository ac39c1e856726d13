/** Damage to stores: a sample of each kind. */

import { storeDamageAttacks } from './storeDamage.ts';

storeDamageAttacks({ flips: 4, written: 2, numbers: 2, copies: 2, mutations: 8 });
