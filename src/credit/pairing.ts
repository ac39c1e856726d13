/** Turns a bucket's results into independent differences between one message and the others drawn in its context. */

import type { PoolBucket, PoolMember } from '../shared/credit/creditPool.ts';

/** Most arrangements of one bucket's results that are averaged. */
const MOST_ASSIGNMENTS = 8;

/** The evidence of one bucket about one message. */
export interface BucketEvidence {
  /**
   * The units of every assignment, in order. The units of one assignment share no draw and no stream, so
   * they are independent, and the mean of each is the message's credit. Assignments arrange the same
   * results differently, so they are not independent of each other.
   */
  readonly assignments: readonly (readonly number[])[];
  /** The single differences that the units average: each draw with each stream once. */
  readonly cells: readonly number[];
  /** Number of independent units: those of the largest assignment. */
  readonly units: number;
}

/** One message's results in a bucket by stream, without masked ones. */
type Returns = ReadonlyMap<number, number>;

/**
 * Returns the differences between the message `key` and the messages that the policy drew for the
 * bucket.
 *
 * If the message is itself a draw of the bucket, it is left out of its own baseline once. Further
 * draws of the same text stay in, since they are part of the policy's value (leave-one-out; C3, eq. 13
 * to 15). If a person chose or typed it, no draw is left out. With k draws on R streams there are
 * min(k, R) units; surplus draws or streams are averaged within a unit. Arrangements depend only on
 * the order of draws and streams.
 * @param terminal true if the message's return is a function of its text: every draw is then a unit
 * @returns null if the bucket holds no result of the message, or no draw to compare it with
 */
export function compareInBucket(bucket: PoolBucket, key: string, terminal: boolean): BucketEvidence | null {
  const { own, draws } = splitReturns(bucket, key);
  if (own.size === 0 || draws.length === 0) {
    return null;
  }
  const ownMean = meanOf([...own.values()]);
  if (terminal) {
    return toEvidence(draws.map((draw) => ownMean - meanOf([...draw.values()])));
  }
  const ordered = draws.filter((draw) => [...draw.keys()].some((stream) => own.has(stream)));
  // Without a common stream, as between two draws of a paired request, whole means are compared as
  // one unit.
  if (ordered.length === 0) {
    return toEvidence([ownMean - meanOf(draws.map((draw) => meanOf([...draw.values()])))]);
  }
  return pairedUnits(own, ordered) ?? crossUnits(own, ordered);
}

/** Returns true if a member has a result that counts. */
export const isScored = ({ results, repeated }: PoolMember): boolean =>
  repeated !== true && results.some(({ value }) => value !== null);

/** Returns the members of a bucket that are compared for `key`: its own, and the draws of its baseline. */
export function splitMembers(
  { members }: PoolBucket,
  key: string,
): { readonly own: readonly PoolMember[]; readonly draws: readonly PoolMember[] } {
  const scored = members.filter(isScored);
  const own = scored.filter((member) => member.key === key);
  const itself = own.every(({ drawn }) => drawn) ? own[0] : undefined;
  return { own, draws: scored.filter((member) => member.drawn && member !== itself) };
}

function splitReturns(bucket: PoolBucket, key: string): { readonly own: Returns; readonly draws: readonly Returns[] } {
  const { own, draws } = splitMembers(bucket, key);
  return { own: averageByStream(own), draws: draws.map((draw) => averageByStream([draw])) };
}

/**
 * Returns the mean return by stream. Results of one stream share their first continuation, so they are
 * not independent and are averaged.
 */
function averageByStream(members: readonly PoolMember[]): Returns {
  const byStream = new Map<number, number[]>();
  for (const { results } of members) {
    for (const { stream, value } of results) {
      if (value === null) {
        continue;
      }
      const values = byStream.get(stream);
      if (values === undefined) {
        byStream.set(stream, [value]);
      } else {
        values.push(value);
      }
    }
  }
  return new Map([...byStream].map(([stream, values]) => [stream, meanOf(values)]));
}

/**
 * Returns units if every draw has one stream and no two draws share one, as in a paired request; null
 * for other designs.
 */
function pairedUnits(own: Returns, draws: readonly Returns[]): BucketEvidence | null {
  const streams = draws.map((draw) => (draw.size === 1 ? ([...draw.keys()][0] ?? -1) : -1));
  if (draws.length < 2 || streams.includes(-1) || new Set(streams).size < streams.length) {
    return null;
  }
  return toEvidence(
    draws
      .flatMap((draw) => [...draw].map(([stream, value]) => ({ stream, difference: (own.get(stream) ?? 0) - value })))
      .sort((a, b) => a.stream - b.stream)
      .map(({ difference }) => difference),
  );
}

/**
 * Compares blocks of draws with blocks of streams, each block once in an assignment. The assignments
 * rotate the blocks against each other.
 */
function crossUnits(own: Returns, draws: readonly Returns[]): BucketEvidence {
  const streams = [...own.keys()].filter((stream) => draws.some((draw) => draw.has(stream))).sort((a, b) => a - b);
  const blocks = Math.min(draws.length, streams.length);
  const table = draws.map((draw) =>
    streams.map((stream) => {
      const value = draw.get(stream);
      return value === undefined ? null : (own.get(stream) ?? 0) - value;
    }),
  );
  const count = Math.min(blocks, MOST_ASSIGNMENTS);
  const assignments = Array.from({ length: count }, (_, turn) => {
    const shift = Math.floor((turn * blocks) / count);
    return Array.from({ length: blocks }, (_unit, block) =>
      blockMean(table, (block + shift) % blocks, block, blocks),
    ).filter((unit) => unit !== null);
  }).filter((units) => units.length > 0);
  return {
    assignments,
    cells: table.flat().filter((cell) => cell !== null),
    units: Math.max(...assignments.map((units) => units.length)),
  };
}

/**
 * Returns the mean difference over the draws of one block on the streams of another, or null if none
 * was measured. Each block takes every `blocks`-th draw or stream.
 */
function blockMean(
  table: readonly (readonly (number | null)[])[],
  drawBlock: number,
  streamBlock: number,
  blocks: number,
): number | null {
  let sum = 0;
  let count = 0;
  for (let draw = drawBlock; draw < table.length; draw += blocks) {
    const row = table[draw] ?? [];
    for (let stream = streamBlock; stream < row.length; stream += blocks) {
      const cell = row[stream] ?? null;
      if (cell === null) {
        continue;
      }
      sum += cell;
      count++;
    }
  }
  return count === 0 ? null : sum / count;
}

const toEvidence = (units: readonly number[]): BucketEvidence => ({
  assignments: [units],
  cells: units,
  units: units.length,
});

function meanOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) {
    sum += value;
  }
  return sum / values.length;
}
