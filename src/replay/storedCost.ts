/** Computes the cost of a run from its rows. */

import { addLedgers, EMPTY_LEDGER, type Ledger } from '../domain/run.ts';
import type { EpisodeCost, PositionCost } from '../store/types.ts';
import { requireOccurrence, type Protocol } from '../team/protocol.ts';
import { countClosingScores } from '../team/rounds.ts';
import { countReused } from './reuse.ts';

/**
 * Returns a ledger. Every message at a scored position was evaluated once, or took the score of an
 * equal one. Every closing event was evaluated once.
 * @param costs the rows of one origin, by position
 * @param episodes of the run, of every origin
 * @param origin null for the run's own
 * @returns a ledger with 0 seconds, which rows do not tell
 */
export function computeStoredCost(
  costs: readonly Omit<PositionCost, 'environment'>[],
  episodes: readonly EpisodeCost[],
  origin: EpisodeCost['origin'],
  protocol: Protocol,
): Ledger {
  const reusedEvaluations = countReused(episodes, origin, protocol);
  const ended = episodes.reduce((total, cost) => total + (cost.origin === origin ? cost.episodes : 0), 0);
  return addLedgers(
    { ...EMPTY_LEDGER, evaluatorCalls: countClosingScores(protocol) * ended - reusedEvaluations, reusedEvaluations },
    ...costs.map((cost) => ({
      ...EMPTY_LEDGER,
      evaluatorCalls: requireOccurrence(protocol, cost.position).scored ? cost.messages : 0,
      tokens: {
        prompt: cost.promptTokens,
        reused: cost.reusedTokens,
        completion: cost.completionTokens,
        reusedCompletion: cost.reusedCompletionTokens,
      },
      decisions: { [cost.role]: cost.messages },
    })),
  );
}
