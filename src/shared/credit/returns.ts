/** Valid numbers for returns and for values of contexts and messages, and the returns that are a success. Pure. */

import type { ReturnRange } from './creditPool.ts';

/**
 * The largest amount of a return. Squares of returns, sums of millions of them and their quotients
 * stay well inside the range of doubles, so that credits and intervals stay finite for any valid
 * input.
 */
export const MAX_RETURN = 1e6;

/** The condition on a return, as the end of a sentence. */
export const RETURN_WORDS = 'a number from -1e6 to 1e6';

/** Returns true if a number can be a return; NaN and infinities cannot. */
export const isReturn = (value: number): boolean => Math.abs(value) <= MAX_RETURN;

/**
 * The range of the returns of a run, and the least return of a solved episode, from its evaluator and
 * protocol.
 */
export interface ReturnScale extends ReturnRange {
  readonly solved: number;
}

/** The outcome of an episode: solved, between, or with the least return. It is lost unless it is won. */
export type Outcome = 'won' | 'between' | 'failed';

/** Tolerance for the rounding errors of sums of rewards and of means over equal returns. */
const ROUNDING = 1e-9;

/** Returns true if a return reaches a solved episode's. @param solved the least such return */
export const isSolved = (value: number, solved: number): boolean => value >= solved - ROUNDING;

/**
 * Returns the range of returns of an outcome, both bounds included; `between` is the rest.
 * @param scale null if no evaluator is known, as in recordings of other programs: 1 and 0 are then
 *   success and failure, and other numbers belong to no outcome
 */
export function outcomeRange(
  outcome: Exclude<Outcome, 'between'>,
  scale: ReturnScale | null,
): readonly [number, number] {
  if (scale === null) {
    const value = outcome === 'won' ? 1 : 0;
    return [value - ROUNDING, value + ROUNDING];
  }
  return outcome === 'won' ? [scale.solved - ROUNDING, MAX_RETURN] : [-MAX_RETURN, scale.low + ROUNDING];
}

/** Returns the outcome of an episode with this return. @param scale as in outcomeRange */
export function toOutcome(value: number, scale: ReturnScale | null): Outcome {
  const isWithin = ([low, high]: readonly [number, number]): boolean => value >= low && value <= high;
  return isWithin(outcomeRange('won', scale)) ? 'won' : isWithin(outcomeRange('failed', scale)) ? 'failed' : 'between';
}

/** Returns true if an episode with this return was lost. @param scale as in outcomeRange */
export const isLost = (value: number, scale: ReturnScale | null): boolean => toOutcome(value, scale) !== 'won';
