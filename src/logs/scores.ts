/** What an episode scored, as programs write it. */
import { isReturn } from '../shared/credit/returns.ts';
import { isRecord } from '../shared/guard.ts';

/** A score as a number; null for what is none, or cannot be a return. */
export function returnOf(score: unknown): number | null {
  const number = typeof score === 'boolean' ? Number(score) : score;
  return typeof number === 'number' && isReturn(number) ? number : null;
}

/** The first score of a list or of an object by name: numbers, or objects with a `value` or a `score`. */
export function firstScore(scores: unknown): number | null {
  const all: readonly unknown[] = Array.isArray(scores) ? scores : isRecord(scores) ? Object.values(scores) : [];
  for (const one of all) {
    const score = returnOf(isRecord(one) ? (one['value'] ?? one['score']) : one);
    if (score !== null) {
      return score;
    }
  }
  return null;
}
