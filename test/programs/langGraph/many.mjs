/** Runs the team on each question of a file, an episode each, and sends its scores: `many.mjs QUESTIONS`. */

import { readFileSync } from 'node:fs';
import { outcomeOf } from '../teams.mjs';
import { buildTeam } from './team.mjs';

const team = buildTeam();
for (const [index, { question, answer }] of JSON.parse(readFileSync(process.argv[2], 'utf8')).entries()) {
  const episode = String(index);
  const { messages } = await team.invoke(
    { messages: [{ role: 'user', content: question }] },
    { configurable: { episode } },
  );
  const { return: score } = outcomeOf([messages.at(-1).text], answer);
  await fetch(process.env.C3_RECORD_SCORE, { method: 'POST', body: JSON.stringify({ return: score, episode }) });
}
