/** Adds what parts of a run cost. */
import type { Ledger, Tokens } from './records.ts';
import { addTokens } from './stepRows.ts';

/** The cost of nothing. */
export const EMPTY_LEDGER = {
  evaluatorCalls: 0,
  reusedEvaluations: 0,
  tokens: { prompt: 0, reused: 0, completion: 0, reusedCompletion: 0 },
  decisions: {},
  seconds: 0,
} as const satisfies Ledger;

/** The sum of any number of ledgers; roles are in the order of their first appearance. */
export function addLedgers(...ledgers: readonly Ledger[]): Ledger {
  // A map, because a role may be called like a property that every object has.
  const decisions = new Map<string, number>();
  let [evaluatorCalls, reusedEvaluations, voteCalls, seconds] = [0, 0, 0, 0];
  let tokens: Tokens = EMPTY_LEDGER.tokens;
  for (const ledger of ledgers) {
    evaluatorCalls += ledger.evaluatorCalls;
    reusedEvaluations += ledger.reusedEvaluations ?? 0;
    voteCalls += ledger.voteCalls ?? 0;
    seconds += ledger.seconds;
    tokens = addTokens(tokens, ledger.tokens);
    for (const [role, count] of Object.entries(ledger.decisions)) {
      decisions.set(role, (decisions.get(role) ?? 0) + count);
    }
  }
  return {
    evaluatorCalls,
    reusedEvaluations,
    ...(voteCalls > 0 && { voteCalls }),
    tokens,
    decisions: Object.fromEntries(decisions),
    seconds,
  };
}

/**
 * What a run spent on answers of votes: its messages do not show it, so that it is read from the newest step.
 * @param newest the ledger with which that step was stored last; undefined before the first
 */
export const votesCost = (newest: Ledger | undefined): Ledger => {
  const voteCalls = newest?.voteCalls ?? 0;
  return { ...EMPTY_LEDGER, evaluatorCalls: voteCalls, voteCalls };
};
