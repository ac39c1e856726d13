/** Attacks with the environment of the editor: all of each kind. */

import { environmentAttacks } from '../../attack/environment.ts';

environmentAttacks({ environments: 20_000 });
