/** A run that is killed with SIGKILL, in all its phases and at pseudo-random times. */

import { killedInPhases, killedInSeveralSteps, killedTeam, killedWhereDrawnAgain, PHASES } from '../../crash/resume.ts';

killedTeam();
killedInPhases(PHASES);
killedWhereDrawnAgain(8, 3);
killedInSeveralSteps(10, 4);
