/** The limits of grading. They count operations, not time, so verdicts are equal on all machines. */

export const LIMITS = {
  /** Counted steps of one comparison: products of terms, division steps, tokens, matched items. */
  operations: 8_000,
  /** Nested brackets and groups. */
  depth: 40,
  /** Binary digits of any integer. */
  bits: 4096,
  /** Terms of an expanded polynomial. */
  terms: 300,
  /** Size of a whole exponent of a number or of a single term. */
  exponent: 100_000,
  /** Order of a root. */
  root: 64,
  /** Characters of an expression's canonical text. */
  key: 4000,
  /** Characters of an answer after characters such as ½ are written out. */
  answer: 2000,
  /** Characters of a message; longer ones are not searched. */
  message: 262_144,
} as const;

const LARGEST = 1n << BigInt(LIMITS.bits);

/** Thrown when a limit is reached: nothing is known of the value, so the grade is `limit`, unequal. */
export class LimitReached extends Error {}

/** Thrown for text that the grader cannot read as mathematics; it is compared as text. */
export class Unreadable extends Error {}

export class Budget {
  private remaining: number = LIMITS.operations;

  /** @throws LimitReached if more than LIMITS.operations have been spent */
  spend(operations: number): void {
    this.remaining -= operations;
    if (this.remaining < 0) {
      throw new LimitReached();
    }
  }

  get left(): number {
    return this.remaining;
  }

  /** @throws LimitReached if an integer has more than LIMITS.bits binary digits */
  size(value: bigint): bigint {
    if (value > LARGEST || value < -LARGEST) {
      throw new LimitReached();
    }
    return value;
  }
}
