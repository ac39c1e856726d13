/** Lets C3 continue the team on any question of a file: `manyDriver.mjs QUESTIONS`. */

import { readFileSync } from 'node:fs';
import { driveLangGraph } from '../../../media/drivers/langgraph.mjs';
import { outcomeOf, questionIn } from '../teams.mjs';
import { buildTeam } from './team.mjs';

const answers = new Map(
  JSON.parse(readFileSync(process.argv[2], 'utf8')).map(({ question, answer }) => [question, answer]),
);
driveLangGraph({
  graph: buildTeam(),
  input: (recorded) => ({ messages: [{ role: 'user', content: questionIn(recorded) }] }),
  outcome: ({ messages }) => outcomeOf([messages.at(-1).text], answers.get(messages[0].text)),
});
