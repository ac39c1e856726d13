/** Damage to stores: all of each kind. */

import { storeDamageAttacks } from '../../attack/storeDamage.ts';

storeDamageAttacks({ flips: 200, written: 20, numbers: 100, copies: 30, mutations: 600 });
