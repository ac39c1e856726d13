/** Damage to stores: a sample of each kind. */
import { storeDamageAttacks } from './storeDamage.ts';

storeDamageAttacks({ flips: 8, written: 3, numbers: 3, copies: 3, mutations: 15 });
