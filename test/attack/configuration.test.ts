/** Attacks with configurations: a sample of each kind. */

import { configurationAttacks } from './configuration.ts';

configurationAttacks({ texts: 200, heavy: 1, length: 6_000 });
