/** The exact referee of the game of guessing numbers. */

import { compareGuess, readGuess, parseSecret } from '../../evaluate/puzzles/numbers.ts';
import type { EnvironmentKind } from '../kind.ts';

export const referee: EnvironmentKind = {
  name: 'referee',
  words:
    'Says how many digits of the newest guess are in place and how many elsewhere, for secret numbers; the right guess ends the episode.',
  // The wording of AR-Bench, or a short one.
  options: { words: ['short', 'published'] },
  derived: true,
  run({ problem, messages, options }) {
    const secret = parseSecret(problem.answer);
    if (secret === null) {
      throw new Error(
        'the answer of the problem is no secret number such as `secret number 0427`; take the environment out, or choose task: {name: numbers}',
      );
    }
    const guess = readGuess(messages.at(-1)?.text ?? '', secret.length);
    if (guess === null) {
      const example = '0123456789'.slice(0, secret.length);
      return { text: `No guess of ${secret.length} digits. Write one such as Guess: ${example}`, json: { guess } };
    }
    const { inPlace, elsewhere } = compareGuess(secret, guess);
    const text =
      options['words'] === 'published'
        ? `${inPlace} digits are present in the answer and in the correct positions\n${elsewhere} digits are present in the answer but in the different positions`
        : `${guess}: ${inPlace} in place, ${elsewhere} elsewhere.`;
    return { text, json: { guess, inPlace, elsewhere }, ...(guess === secret && { done: 'the guess is right' }) };
  },
};
