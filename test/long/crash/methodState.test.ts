/** Runs whose methods carry states, killed again and again. */
import {
  ANYWHERE,
  IN_STAGES,
  IN_STEPS,
  IN_TURNS,
  killedAnywhere,
  killedInStages,
  killedInSteps,
  killedInTurns,
  statefulTeam,
} from '../../crash/methodState.ts';

statefulTeam();
killedInStages(IN_STAGES);
killedInTurns('teamtr', IN_TURNS);
killedInTurns('diagnosed', IN_TURNS);
killedInSteps(IN_STEPS);
killedAnywhere('ccpo', ANYWHERE);
killedAnywhere('voting', ANYWHERE);
