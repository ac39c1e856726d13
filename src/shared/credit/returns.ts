/** Which numbers can be returns, and values of contexts and messages, and which returns are a success. Pure. */
import type { ReturnRange } from './creditPool.ts';

/**
 * The largest amount of a return. Squares of returns, their sums over millions and the quotients of these stay far
 * inside the range of doubles, with digits to spare, so no credit or interval is lost to a number that nobody meant.
 */
export const MAX_RETURN = 1e6;

/** What a return must be, as the end of a sentence. */
export const RETURN_WORDS = 'a number from -1e6 to 1e6';

/** Whether a number can be a return; NaN and infinities cannot. */
export const isReturn = (value: number): boolean => Math.abs(value) <= MAX_RETURN;

/** What the returns of a run can be, and from which one on an episode is solved, as its evaluator and protocol say. */
export interface ReturnScale extends ReturnRange {
  readonly solved: number;
}

/** How an episode ended: solved, between, or with the least return. It is lost where it is not won. */
export type Outcome = 'won' | 'between' | 'failed';

/** Sums of rewards, and means over equal returns, miss what they stand for by roundings. */
const ROUNDING = 1e-9;

/** Whether a return reaches that of a solved episode. @param solved the least one that counts */
export const isSolved = (value: number, solved: number): boolean => value >= solved - ROUNDING;

/**
 * The returns of an outcome, both bounds included; `between` is what is left.
 * @param scale null where no evaluator is known, as of what another program recorded: 1 and 0 are then taken for
 *   success and failure, and nothing is said of any other number
 */
export function returnsOf(outcome: Exclude<Outcome, 'between'>, scale: ReturnScale | null): readonly [number, number] {
  if (scale === null) {
    const value = outcome === 'won' ? 1 : 0;
    return [value - ROUNDING, value + ROUNDING];
  }
  return outcome === 'won' ? [scale.solved - ROUNDING, MAX_RETURN] : [-MAX_RETURN, scale.low + ROUNDING];
}

/** How an episode of this return ended. @param scale as of returnsOf */
export function outcomeOf(value: number, scale: ReturnScale | null): Outcome {
  const isWithin = ([low, high]: readonly [number, number]): boolean => value >= low && value <= high;
  return isWithin(returnsOf('won', scale)) ? 'won' : isWithin(returnsOf('failed', scale)) ? 'failed' : 'between';
}

/** Whether an episode of this return was lost. @param scale as of returnsOf */
export const isLost = (value: number, scale: ReturnScale | null): boolean => outcomeOf(value, scale) !== 'won';
