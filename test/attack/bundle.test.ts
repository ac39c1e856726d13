/** Attacks with bucket files: a sample of each kind. */

import { bundleAttacks } from './bundle.ts';

bundleAttacks({ lines: 1_000, imports: 120, length: 20_000, texts: 500 });
