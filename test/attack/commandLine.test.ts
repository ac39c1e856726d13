/** Attacks with arguments: a sample of each kind. */
import { commandLineAttacks } from './commandLine.ts';

commandLineAttacks({ argumentLists: 300, commands: 3 });
