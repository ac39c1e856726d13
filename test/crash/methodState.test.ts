/** Runs whose methods carry states, killed twice: about a stage, in turns, in steps, and with running statistics. */
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
} from './methodState.ts';

statefulTeam();
killedInStages(IN_STAGES.slice(1, 3));
killedInTurns('teamtr', IN_TURNS.slice(7, 9));
killedInSteps(IN_STEPS.slice(1, 3));
killedAnywhere('ccpo', ANYWHERE.slice(1, 3));
