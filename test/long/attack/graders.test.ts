/** Attacks with answers: all of each kind. */

import { gradersAttacks } from '../../attack/graders.ts';

gradersAttacks({
  answers: 40_000,
  statedNumbers: 20_000,
  pairs: 10_000,
  parts: Infinity,
  length: 20_000,
  differences: 5_000,
});
