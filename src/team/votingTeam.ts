/** Teams that vote. */

import type { Protocol } from './protocol.ts';

/**
 * Returns true if a protocol has one round of roles that do not see each other, and a vote of all of
 * them ends it.
 */
export function isVotingTeam({ occurrences, rounds }: Protocol): boolean {
  return (
    rounds?.closing?.name === 'vote' &&
    rounds.closing.of === null &&
    rounds.turns === 1 &&
    rounds.order === 'by_role' &&
    rounds.after.size === 0 &&
    occurrences.every(({ ancestors, scored }) => ancestors.length === 0 && !scored)
  );
}
