/** Attacks with bucket files: all of each kind. */

import { bundleAttacks } from '../../attack/bundle.ts';

bundleAttacks({ lines: 20_000, imports: 2_000, length: 100_000, texts: 10_000 });
