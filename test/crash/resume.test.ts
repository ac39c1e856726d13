/** A run that is killed with SIGKILL, at one moment of each kind. */

import { killedInPhases, killedTeam, ONE_OF_EACH } from './resume.ts';

killedTeam();
killedInPhases(ONE_OF_EACH);
