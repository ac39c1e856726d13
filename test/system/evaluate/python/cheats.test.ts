import { CHEATS } from '../../../unit/evaluate/python/cheats.ts';
import { triedCheats } from './triedCheats.ts';

/** Of those that end at the same limit, the first: each takes as long as its limit allows. */
const NAMES = Object.entries(CHEATS)
  .filter(
    ([, [rule]], index, all) => !rule.endsWith('-limit') || all.findIndex(([, [other]]) => other === rule) === index,
  )
  .map(([name]) => name);

triedCheats(NAMES);
