/** Which numbers can be returns, and values of contexts and messages, wherever they come from. */

/**
 * The largest amount of a return. Squares of returns, their sums over millions and the quotients of these stay far
 * inside the range of doubles, with digits to spare, so no credit or interval is lost to a number that nobody meant.
 */
export const MAX_RETURN = 1e6;

/** What a return must be, as the end of a sentence. */
export const RETURN_WORDS = 'a number from -1e6 to 1e6';

/** Whether a number can be a return; NaN and infinities cannot. */
export const isReturn = (value: number): boolean => Math.abs(value) <= MAX_RETURN;
