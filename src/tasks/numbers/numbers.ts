/**
 * A bundled task: a team guesses a secret number in turns. After each guess an exact referee (the
 * environment `referee`) says how many digits are in place and how many elsewhere. It comes without a
 * team, for the user's own model.
 */

import { compareGuess, writeSecret } from '../../evaluate/puzzles/numbers.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { checkLevels, drawDistinct } from '../drawDistinct.ts';
import { HashedStream } from '../hashedStream.ts';
import { uidSha } from '../uid.ts';
import { numbersQuestion } from './numbersQuestion.ts';

interface LevelRule {
  readonly level: number;
  readonly length: number;
  /** Number of different digits to choose from. */
  readonly digits: number;
}

const LEVEL_RULES: readonly LevelRule[] = [
  { level: 1, length: 2, digits: 6 },
  { level: 2, length: 3, digits: 6 },
  { level: 3, length: 3, digits: 10 },
  // The game of AR-Bench, with 5,040 secrets.
  { level: 4, length: 4, digits: 10 },
];

const DIGITS: readonly string[] = Array.from('0123456789');

const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];

/**
 * Yields every distinct game of a seed, until there are no more: 30, 120, 720 and 5,040 at the levels
 * 1 to 4.
 * @param levels weights of the levels, by position
 * @throws C3Error('input') for invalid levels; during iteration, if all games of the mix were drawn
 */
export function distinctNumbers(seed: string, levels: readonly number[] = DEFAULT_MIX): Iterable<DemonstratedProblem> {
  checkLevels('numbers', levels, LEVEL_RULES.length);
  return drawDistinct('numbers', levels, (index) => drawGame(seed, index, levels));
}

/** Returns draw `index` of a seed; depends only on its arguments. */
function drawGame(seed: string, index: number, levels: readonly number[]): DemonstratedProblem {
  const stream = new HashedStream(`numbers\0${seed}\0${index}`);
  const { level, length, digits } = stream.weighted(LEVEL_RULES, levels);
  const secret = stream.some(DIGITS.slice(0, digits), length).join('');
  const question = numbersQuestion(secret, digits);
  const said = consistentGuesses(secret, digits).map((guess) => `Guess: ${guess}`);
  return {
    uid: `numbers-${seed}-${index}`,
    uidSha: uidSha(question),
    question,
    answer: writeSecret(secret),
    source: 'numbers',
    level,
    said,
    saidInHaste: said,
    short: length < 4 && digits < 10,
  };
}

/**
 * Returns the guesses of a player that always says the least number consistent with all answers of the
 * referee. This exact solver ends with the secret.
 */
export function consistentGuesses(secret: string, digits: number): string[] {
  let possible = allNumbers(secret.length, digits);
  const guesses: string[] = [];
  for (let guess = possible[0]; guess !== undefined; guess = possible[0]) {
    guesses.push(guess);
    const asked = guess;
    if (asked === secret) {
      break;
    }
    const said = compareGuess(secret, asked);
    possible = possible.filter((one) => {
      const { inPlace, elsewhere } = compareGuess(one, asked);
      return inPlace === said.inPlace && elsewhere === said.elsewhere;
    });
  }
  return guesses;
}

const KNOWN = new Map<string, readonly string[]>();

function allNumbers(length: number, digits: number): readonly string[] {
  const key = `${length} of ${digits}`;
  const known = KNOWN.get(key) ?? numbersOf(length, DIGITS.slice(0, digits));
  KNOWN.set(key, known);
  return known;
}

/** Returns every number of `length` different digits, in ascending order. */
const numbersOf = (length: number, digits: readonly string[]): string[] =>
  length === 0
    ? ['']
    : digits.flatMap((digit) =>
        numbersOf(
          length - 1,
          digits.filter((other) => other !== digit),
        ).map((end) => digit + end),
      );
