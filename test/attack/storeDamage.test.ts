/** Damage to stores: a sample of each kind. */
import { storeDamageAttacks } from './storeDamage.ts';

storeDamageAttacks({ flips: 20, written: 3, numbers: 5, copies: 4, mutations: 40 });
