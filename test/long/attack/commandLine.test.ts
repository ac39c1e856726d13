/** Attacks with arguments: all of each kind. */

import { commandLineAttacks } from '../../attack/commandLine.ts';

commandLineAttacks({ argumentLists: 20_000, commands: Infinity });
