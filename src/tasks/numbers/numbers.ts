/**
 * A bundled task: a secret number is guessed in turns, and an exact referee says of each guess how many digits are in
 * place and how many elsewhere (the environment `referee`). It comes without a team, for a model of the user's.
 */
import { compareGuess, secretText } from '../../evaluate/puzzles/numbers.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { checkLevels, drawDistinct } from '../drawDistinct.ts';
import { HashedStream } from '../hashedStream.ts';
import { uidSha } from '../uid.ts';
import { numbersQuestion } from './numbersQuestion.ts';

interface LevelRule {
  readonly level: number;
  readonly length: number;
  /** Different digits that there are to choose from. */
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
 * Every distinct game of a seed, until there are no more: 30, 120, 720 and 5,040 of the levels 1 to 4.
 * @param levels mix weights of the levels, by position
 * @throws C3Error('input') for levels that are no mix; while it is read, where all games of the mix were drawn
 */
export function distinctNumbers(seed: string, levels: readonly number[] = DEFAULT_MIX): Iterable<DemonstratedProblem> {
  checkLevels('numbers', levels, LEVEL_RULES.length);
  return drawDistinct('numbers', levels, (index) => drawGame(seed, index, levels));
}

/** Draw `index` of a seed; depends on nothing but its arguments. */
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
    answer: secretText(secret),
    source: 'numbers',
    level,
    said,
    saidInHaste: said,
    short: length < 4 && digits < 10,
  };
}

/**
 * The guesses of a player who always says the least number that agrees with all the referee has said: an exact solver,
 * which ends with the secret.
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

/** Every number of so many different digits, in ascending order. */
const numbersOf = (length: number, digits: readonly string[]): string[] =>
  length === 0
    ? ['']
    : digits.flatMap((digit) =>
        numbersOf(
          length - 1,
          digits.filter((other) => other !== digit),
        ).map((end) => digit + end),
      );
