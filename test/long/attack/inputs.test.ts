/** Attacks with inputs and outputs: all of each kind. */

import { inputsAttacks } from '../../attack/inputs.ts';

inputsAttacks({ cuts: 2_000, commands: Infinity, tables: 5_000 });
