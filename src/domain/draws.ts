/**
 * How the continuations of a bucket's alternatives drew their random numbers, read from their stream keys, and the
 * words for it.
 */
import type { Replay } from './records.ts';

/**
 * common: replay m of every alternative drew the same numbers (common random numbers); paired: the same, and each
 * alternative has one continuation, of a number that it shares with the message itself and no other alternative;
 * independent: each alternative drew numbers of its own; unseeded: the policy's endpoint takes no seeds, so that
 * nothing was shared and nothing can be drawn again.
 */
export type Draws = 'paired' | 'common' | 'independent' | 'unseeded';

export const DRAWS_WORDS: Readonly<Record<Draws, string>> = {
  paired: 'common random numbers, in pairs: each alternative shares its own with the message itself',
  common: 'common random numbers',
  independent: 'independent random numbers',
  unseeded: 'no seeds: the endpoint takes none, so random numbers are not shared',
};

/** What a run or a replay says of a policy that takes no seeds. */
export const NO_SEEDS_REMARK = 'The endpoint takes no seeds: common random numbers and exact verification are off.';

/**
 * How a bucket's replays drew.
 * @param streamKeyOf the stream key of a stored message; empty where it drew from no stream of ours
 * @returns null while there are not two alternatives with a continuation of the same index to compare, as for a message
 *   that ends the episode
 */
export function drawsOf(
  replays: readonly Pick<Replay, 'alternative' | 'leaf' | 'replayIndex'>[],
  streamKeyOf: (message: number) => string,
): Draws | null {
  const continued = replays.filter(({ alternative, leaf }) => leaf !== alternative);
  const byNumber = [...Map.groupBy(continued, ({ replayIndex }) => replayIndex).values()];
  const [first, second] = byNumber.find((members) => members.length > 1) ?? [];
  if (first === undefined || second === undefined) {
    return null;
  }
  const [one, other] = [streamKeyOf(first.leaf), streamKeyOf(second.leaf)];
  if (one === '' && other === '') {
    return 'unseeded';
  }
  if (one !== other) {
    return 'independent';
  }
  return arePairs(continued, byNumber) ? 'paired' : 'common';
}

/** Whether one message has every number, at least two of them, and each of the others one of its own. */
function arePairs(
  continued: readonly Pick<Replay, 'alternative'>[],
  byNumber: readonly (readonly Pick<Replay, 'alternative'>[])[],
): boolean {
  const members = [...Map.groupBy(continued, ({ alternative }) => alternative).values()];
  return (
    members.filter((own) => own.length > 1).length === 1 &&
    members.length > 2 &&
    byNumber.every((same) => same.length <= 2)
  );
}
