/** The hard bounds of grading: counted operations and sizes, never time, so a verdict is the same on every machine. */

export const LIMITS = {
  /** Counted steps for one comparison: products of terms, steps of a division, tokens read, items matched. */
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
  /** Characters of an answer once characters such as ½ are written out. */
  answer: 2000,
  /** Characters of a message; a longer one is not searched. */
  message: 262_144,
} as const;

const LARGEST = 1n << BigInt(LIMITS.bits);

/** A bound was reached: nothing is known of the value, so the grade is `limit`, unequal. */
export class LimitReached extends Error {}

/** The text is no mathematics that the grader reads; it is compared as text. */
export class Unreadable extends Error {}

/** Counts the work of one comparison. */
export class Budget {
  private remaining: number = LIMITS.operations;

  /** @throws LimitReached when more has been spent than LIMITS.operations */
  spend(operations: number): void {
    this.remaining -= operations;
    if (this.remaining < 0) {
      throw new LimitReached();
    }
  }

  /** What is left, in operations. */
  get left(): number {
    return this.remaining;
  }

  /** @throws LimitReached when an integer has more than LIMITS.bits binary digits */
  size(value: bigint): bigint {
    if (value > LARGEST || value < -LARGEST) {
      throw new LimitReached();
    }
    return value;
  }
}
