/** Attacks with returns: a sample of each kind. */
import { creditAttacks } from './credit.ts';

creditAttacks({ requests: 120, alternatives: 1_001, groups: 60 });
