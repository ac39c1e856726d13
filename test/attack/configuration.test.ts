/** Attacks with configurations: a sample of each kind. */
import { configurationAttacks } from './configuration.ts';

configurationAttacks({ texts: 1_000, heavy: 2, length: 6_000 });
