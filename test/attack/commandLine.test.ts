/** Attacks with arguments: a sample of each kind. */
import { commandLineAttacks } from './commandLine.ts';

commandLineAttacks({ argumentLists: 1_000, commands: 3 });
