/** Lets C3 continue the team: `driver.mjs ANSWER`, which scores the number behind the hashes. */
import { driveLangGraph } from '../../../media/drivers/langgraph.mjs';
import { buildTeam } from './team.mjs';

const [answer] = process.argv.slice(2);
driveLangGraph({
  graph: buildTeam(),
  // What was recorded is how the first model was asked.
  input: (question) => ({ messages: [{ role: 'user', content: question.replace(/^Problem:\n/u, '') }] }),
  outcome: ({ messages }) => {
    const text = messages.at(-1).text;
    return { text, return: text.endsWith(`#### ${answer}`) ? 1 : 0 };
  },
});
