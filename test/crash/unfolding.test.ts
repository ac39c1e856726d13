/** An example team whose episodes unfold, killed and resumed. */
import { killedTeams } from './unfolding.ts';

killedTeams(['calculator'], 1);
