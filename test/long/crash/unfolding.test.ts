/** The example teams whose episodes unfold, killed again and again and resumed. */
import { killedTeams } from '../../crash/unfolding.ts';

killedTeams(['feedback', 'calculator', 'voters'], 22);
