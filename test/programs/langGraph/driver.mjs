/** Lets C3 continue the team: `driver.mjs ANSWER [TEAM]`, which scores the number behind the hashes. */

import { driveLangGraph } from '../../../media/drivers/langgraph.mjs';
import { outcomeOf, questionIn } from '../teams.mjs';
import { buildTeam } from './team.mjs';

const [answer, team] = process.argv.slice(2);
driveLangGraph({
  graph: buildTeam(null, team),
  input: (recorded) => ({ messages: [{ role: 'user', content: questionIn(recorded) }] }),
  outcome: ({ messages: [, ...said] }) =>
    outcomeOf(
      said.map(({ text }) => text),
      answer,
    ),
});
