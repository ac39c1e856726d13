/** Lets C3 continue the team: `driver.mjs ANSWER`, which scores the number behind the hashes. */
import { driveAgents, recordedTools } from '../../../media/drivers/openaiAgents.mjs';
import { teamOf, tools } from './team.mjs';

const [answer] = process.argv.slice(2);
driveAgents({
  run: (question) => teamOf(recordedTools(tools))(question.replace(/^Problem:\n/u, '')),
  outcome: (text) => ({ text, return: text.endsWith(`#### ${answer}`) ? 1 : 0 }),
});
