/** Lets C3 continue the team: `driver.mjs ANSWER [TEAM]`, which scores the number behind the hashes. */

import { drive } from '../../../media/drivers/driver.mjs';
import { outcomeOf, questionIn } from '../teams.mjs';
import { solve } from './team.mjs';

const [answer, team] = process.argv.slice(2);
drive(async (recorded) => outcomeOf(await solve(questionIn(recorded), team), answer));
