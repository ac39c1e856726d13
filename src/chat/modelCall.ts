/** A call of a model: what it was asked with, and what it said. */
import type { CallMeasures } from './measures.ts';
import type { ParsedMessage } from './messages.ts';

/** What a model was asked with, and what it said; empty where the log does not hold it. */
export interface ModelCall {
  readonly input: readonly ParsedMessage[];
  readonly output: readonly ParsedMessage[];
  readonly model: string | null;
  /** Tokens as the log counts them; 0 where it does not. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** What else was measured of it. */
  readonly measures?: CallMeasures;
  /** What of it is not read, or not there as it was; a reason each. */
  readonly notes?: readonly string[];
}

/** A count of tokens that a log gives; 0 for anything else. */
export function tokenCount(value: unknown): number {
  const count = Number(value ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
