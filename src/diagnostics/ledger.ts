/** Adds what parts of a run cost. */
import type { Ledger } from '../shared/records.ts';

/** The cost of nothing. */
export const EMPTY_LEDGER: Ledger = { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {}, seconds: 0 };

/** The sum of any number of ledgers; roles stand in the order of their first appearance. */
export function addLedgers(...ledgers: readonly Ledger[]): Ledger {
  // A map, because a role may be called like a property that every object has.
  const decisions = new Map<string, number>();
  let { evaluatorCalls, seconds } = EMPTY_LEDGER;
  let { prompt, reused, completion } = EMPTY_LEDGER.tokens;
  for (const ledger of ledgers) {
    evaluatorCalls += ledger.evaluatorCalls;
    seconds += ledger.seconds;
    prompt += ledger.tokens.prompt;
    reused += ledger.tokens.reused;
    completion += ledger.tokens.completion;
    for (const [role, count] of Object.entries(ledger.decisions)) decisions.set(role, (decisions.get(role) ?? 0) + count);
  }
  return { evaluatorCalls, tokens: { prompt, reused, completion }, decisions: Object.fromEntries(decisions), seconds };
}
