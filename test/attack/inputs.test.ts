/** Attacks with inputs and outputs: a sample of each kind. */
import { inputsAttacks } from './inputs.ts';

inputsAttacks({ cuts: 40, commands: 3, tables: 100 });
