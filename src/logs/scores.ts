/** Reads the scores of episodes. */

import { isReturn } from '../shared/credit/returns.ts';
import { isRecord } from '../shared/guard.ts';

/** Returns a score as a number, or null if it is not one or cannot be a return. */
export function readReturn(score: unknown): number | null {
  const number = typeof score === 'boolean' ? Number(score) : score;
  return typeof number === 'number' && isReturn(number) ? number : null;
}

/** Returns the first score of a list or an object: a number, `value` or `score`. */
export function firstScore(scores: unknown): number | null {
  const all: readonly unknown[] = Array.isArray(scores) ? scores : isRecord(scores) ? Object.values(scores) : [];
  for (const one of all) {
    const score = readReturn(isRecord(one) ? (one['value'] ?? one['score']) : one);
    if (score !== null) {
      return score;
    }
  }
  return null;
}
