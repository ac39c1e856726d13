/** Lets C3 continue the team: `driver.mjs ANSWER [TEAM]`, which scores the number behind the hashes. */

import { driveAgents, recordedTools } from '../../../media/drivers/openaiAgents.mjs';
import { outcomeOf, questionIn } from '../teams.mjs';
import { teamOf, tools } from './team.mjs';

const [answer, team] = process.argv.slice(2);
driveAgents({
  run: (recorded) => teamOf(recordedTools(tools), team)(questionIn(recorded)),
  outcome: (said) => outcomeOf(said, answer),
});
