/** Programs that would outlive their owner: 100 ends of each kind. */
import { ownedAttacks } from '../../attack/ownedPrograms.ts';

ownedAttacks({ ends: 100 });
