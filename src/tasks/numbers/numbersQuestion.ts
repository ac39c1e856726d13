/** The question of a game of guessing numbers. */

import { createHash } from 'node:crypto';

/**
 * Returns the question of a game. Its name is a hash of the secret, so that each secret has its own
 * question, the same in every file and for every seed, which does not reveal the secret.
 * @param digits number of different digits to choose from, starting at 0
 */
export function numbersQuestion(secret: string, digits: number): string {
  const name = createHash('sha256').update(`numbers\0${digits}\0${secret}`, 'utf8').digest('hex').slice(0, 12);
  const example = '0123456789'.slice(0, secret.length);
  return [
    `Game ${name}: guess the secret number. It has ${secret.length} digits, all different, each from 0 to ${digits - 1}; the first may be 0.`,
    'After every guess the referee says how many digits are in place, and how many are in the number but elsewhere.',
    `Write a guess as Guess: ${example}`,
  ].join('\n');
}
