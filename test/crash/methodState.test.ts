/** Runs whose methods carry states, killed twice: in turns of a step, and with running statistics. */
import { ANYWHERE, IN_TURNS, killedAnywhere, killedInTurns, statefulTeam } from './methodState.ts';

statefulTeam();
killedInTurns('teamtr', IN_TURNS.slice(7, 9));
killedAnywhere('ccpo', ANYWHERE.slice(1, 3));
