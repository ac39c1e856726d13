/** Guessing numbers (AR-Bench): a secret of different digits, and the referee's feedback on a guess. */

/** The number of right digits of a guess, in place and elsewhere. */
export interface Feedback {
  readonly inPlace: number;
  readonly elsewhere: number;
}

const SECRET = /^secret number ([0-9]{1,10})$/u;

/**
 * Reads `secret number 0427`.
 * @returns the digits; null if the text has another form or repeats a digit
 */
export function parseSecret(text: string): string | null {
  const digits = SECRET.exec(text.trim())?.[1] ?? '';
  return digits !== '' && new Set(digits).size === digits.length ? digits : null;
}

/** Writes the text that parseSecret reads. */
export const writeSecret = (digits: string): string => `secret number ${digits}`;

/**
 * Returns the guess of a message: its last group of the given number of digits, read from the left, so
 * that 12345 contains 1234.
 * @returns null if it has none
 */
export const readGuess = (message: string, length: number): string | null =>
  [...message.matchAll(new RegExp(`[0-9]{${length}}`, 'gu'))].at(-1)?.[0] ?? null;

/** Compares a guess with a secret of different digits. A digit that a guess repeats counts once. */
export function compareGuess(secret: string, guess: string): Feedback {
  let [inPlace, common] = [0, 0];
  for (let index = 0; index < secret.length; index++) {
    const digit = secret.charAt(index);
    inPlace += guess.charAt(index) === digit ? 1 : 0;
    common += guess.includes(digit) ? 1 : 0;
  }
  return { inPlace, elsewhere: common - inPlace };
}

/** Scores the guess of a message: 1 if it is the secret. */
export function gradeGuess(secret: string, message: string): { readonly score: 0 | 1; readonly rule: string } {
  const guess = readGuess(message, secret.length);
  if (guess === null) {
    return { score: 0, rule: `numbers: no guess of ${secret.length} digits` };
  }
  const { inPlace, elsewhere } = compareGuess(secret, guess);
  return { score: guess === secret ? 1 : 0, rule: `numbers: ${inPlace} in place, ${elsewhere} elsewhere` };
}
