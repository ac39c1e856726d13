/** Attacks with arguments: a sample of each kind. */
import { commandLineAttacks } from './commandLine.ts';

commandLineAttacks({ argumentLists: 100, commands: 3 });
