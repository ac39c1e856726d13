/** Attacks with the environment of the editor: a sample of each kind. */

import { environmentAttacks } from './environment.ts';

environmentAttacks({ environments: 1_000 });
