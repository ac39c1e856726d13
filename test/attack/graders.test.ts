/** Attacks with answers: a sample of each kind. */

import { gradersAttacks } from './graders.ts';

gradersAttacks({ answers: 1_500, statedNumbers: 1_000, pairs: 500, parts: 8, length: 5_000, differences: 200 });
