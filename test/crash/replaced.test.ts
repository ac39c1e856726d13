/** A run that begins with an agent replaced, killed once in stage 0 and once within a turn. */
import { IN_A_TURN, IN_STAGE_0, killedReplacement } from './replaced.ts';

killedReplacement([...IN_STAGE_0.slice(0, 1), ...IN_A_TURN.slice(-1)]);
