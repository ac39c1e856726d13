/** Lets C3 continue the team: `driver.mjs ANSWER`, which scores the number behind the hashes. */
import { drive } from '../../../media/drivers/driver.mjs';
import { solve } from './team.mjs';

const [answer] = process.argv.slice(2);
drive(async (question) => {
  // What was recorded is how the first model was asked.
  const text = await solve(question.replace(/^Problem:\n/u, ''));
  return { text, return: text.endsWith(`#### ${answer}`) ? 1 : 0 };
});
