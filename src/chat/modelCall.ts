/** A call of a model: its input and its output. */

import type { CallMeasures } from './measures.ts';
import type { ParsedMessage } from './messages.ts';

/** The input and output of a model call. They are empty if the log does not hold them. */
export interface ModelCall {
  readonly input: readonly ParsedMessage[];
  readonly output: readonly ParsedMessage[];
  readonly model: string | null;
  /** Tokens as the log counts them, or 0 if it does not. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Other measures of the call. */
  readonly measures?: CallMeasures;
  /** Reasons for parts that were not read or are incomplete. */
  readonly notes?: readonly string[];
}

/** Returns the number of tokens that a log gives, or 0 for any other value. */
export function tokenCount(value: unknown): number {
  const count = Number(value ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
