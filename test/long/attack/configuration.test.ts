/** Attacks with configurations: all of each kind. */

import { configurationAttacks } from '../../attack/configuration.ts';

configurationAttacks({ texts: 20_000, heavy: Infinity, length: 15_000 });
