/** Measures the immediate cost of replacing a policy: before, after a direct swap, and after stage 0. */

import type { SwapShock } from '../../domain/run.ts';
import { compareOutcomes } from '../../training/measure/accuracy.ts';

export interface Solved {
  /** 1 or 0 for each held-out question in order, or null if it is masked. */
  readonly outcomes: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

/** Evaluates a team greedily on the held-out questions, which are the same for all teams. */
export type SolvedBy = (snapshot: string) => Promise<Solved>;

export interface SwappedTeams {
  readonly before: string;
  readonly direct: string;
  /** Null without stage 0. */
  readonly aligned: string | null;
}

/**
 * Evaluates each team once.
 * @param seed seed for the bootstrap of the differences
 * @returns null if there is no question
 */
export async function measureSwapShock(
  teams: SwappedTeams,
  solvedBy: SolvedBy,
  seed: number,
): Promise<SwapShock | null> {
  const [before, direct] = [await solvedBy(teams.before), await solvedBy(teams.direct)];
  const aligned = teams.aligned === null ? null : await solvedBy(teams.aligned);
  if (before.outcomes.length === 0) {
    return null;
  }
  const withDirect = compareOutcomes(before.outcomes, direct.outcomes, true, seed);
  const withAligned = aligned === null ? null : compareOutcomes(before.outcomes, aligned.outcomes, true, seed);
  return {
    evaluatorCalls: before.evaluatorCalls + direct.evaluatorCalls + (aligned?.evaluatorCalls ?? 0),
    before: withDirect.before,
    direct: withDirect.after,
    aligned: withAligned?.after ?? null,
    directChange: withDirect.difference,
    alignedChange: withAligned?.difference ?? null,
  };
}
