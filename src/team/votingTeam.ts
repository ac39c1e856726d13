/** Teams that vote. */
import type { Protocol } from './protocol.ts';

/** Whether a protocol has one round of roles who do not see each other, which a vote of all of them ends. */
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
