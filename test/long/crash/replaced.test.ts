/** A run that begins with an agent replaced, killed again and again in stage 0 and within its turns. */
import { IN_A_TURN, IN_STAGE_0, killedReplacement } from '../../crash/replaced.ts';

killedReplacement([...IN_STAGE_0, ...IN_A_TURN]);
