/**
 * The one credit that a message shows: pooled over all buckets of its context, with an interval that
 * holds at every look.
 */

import type { CreditPool, PoolBucket, PoolResult, ReturnRange } from '../shared/credit/creditPool.ts';
import type { Headline } from '../shared/credit/headline.ts';
import { bettingInterval } from './betting.ts';
import { compareInBucket, isScored, splitMembers, type BucketEvidence } from './pairing.ts';
import { estimateReplaysToSettle } from './replaysToSettle.ts';

export const RANGE_UNKNOWN = 'returns outside the known range have no interval';

/**
 * Returns the headline credit of every alternative of a pool. Messages with equal tokens are one
 * alternative.
 *
 * The credit is Q(a) - V(h): the message's expected return minus that of the policy's own messages in
 * its context, by leave-one-out over each bucket (C3, eq. 13 to 15). The value is the mean difference
 * over all pairs of a draw and a stream, with buckets weighted by their independent units. The
 * interval is a betting confidence sequence over these units (see betting.ts). n counts distinct
 * results on both sides. For a message that ends the episode, n counts its own result and every draw
 * that it is compared with, because equal texts then have one result but are draws of their own.
 * @returns by key; alternatives without an unmasked return are left out
 */
export function creditPoolMembers(pool: CreditPool): ReadonlyMap<string, Headline> {
  const places = new Map<string, PoolBucket[]>();
  const copies = new Map<string, number>();
  for (const bucket of pool.buckets) {
    for (const member of bucket.members) {
      const { key, drawn, repeated } = member;
      if (drawn && repeated !== true) {
        copies.set(key, (copies.get(key) ?? 0) + 1);
      }
      if (!isScored(member)) {
        continue;
      }
      const involved = places.get(key) ?? [];
      places.set(key, involved);
      if (involved.at(-1) !== bucket) {
        involved.push(bucket);
      }
    }
  }
  const span = findReturnSpan(pool);
  const names = new ResultNames(pool);
  return new Map(
    [...places].map(([key, involved]) => [
      key,
      creditPoolMember(pool, key, { involved, copies: copies.get(key) ?? 0 }, span, names),
    ]),
  );
}

/** The place of a message in a pool, found only once because a pool may hold thousands of requests. */
interface Place {
  /** The buckets with a result of the message, in order. */
  readonly involved: readonly PoolBucket[];
  /** Number of times that the policy drew it. */
  readonly copies: number;
}

function creditPoolMember(
  pool: CreditPool,
  key: string,
  { involved, copies }: Place,
  span: number | null,
  names: ResultNames,
): Headline {
  const alone = !involved.some((bucket) => splitMembers(bucket, key).draws.some((draw) => draw.key !== key));
  const behind = names.behind(involved, key);
  const base = { estimator: 'loo', ...behind, copies } as const;
  if (alone) {
    return {
      ...base,
      value: 0,
      low: null,
      high: null,
      interval: 'none',
      effectiveN: 0,
      verdict: 'alone',
      more: null,
      reason: null,
    };
  }
  const evidence = involved
    .map((bucket) => compareInBucket(bucket, key, pool.terminal))
    .filter((found) => found !== null);
  const effectiveN = evidence.reduce((total, { units }) => total + units, 0);
  const value = averageUnits(evidence, effectiveN);
  if (span === null) {
    return {
      ...base,
      value,
      low: null,
      high: null,
      interval: 'none',
      effectiveN,
      verdict: 'undecided',
      more: null,
      reason: RANGE_UNKNOWN,
    };
  }
  const bounds = bettingInterval(evidence, span);
  // Units of unequal blocks may move the interval away from the mean of all pairs.
  const low = Math.min(bounds.low, value);
  const high = Math.max(bounds.high, value);
  const verdict = low > 0 ? 'helped' : high < 0 ? 'hurt' : 'undecided';
  const more = verdict === 'undecided' ? estimateReplaysToSettle(evidence, span, pool.terminal) : 0;
  return { ...base, value, low, high, interval: 'betting', effectiveN, verdict, more, reason: null };
}

function averageUnits(evidence: readonly BucketEvidence[], effectiveN: number): number {
  let total = 0;
  for (const { cells, units } of evidence) {
    total += units * (cells.reduce((sum, cell) => sum + cell, 0) / cells.length);
  }
  return total / effectiveN;
}

/** Returns the width of the range of returns, or null if a return lies outside the known range. */
function findReturnSpan({ buckets, range }: CreditPool): number | null {
  if (range === null || range.high <= range.low) {
    return null;
  }
  const isWithin = ({ value }: PoolResult): boolean => value === null || (value >= range.low && value <= range.high);
  return buckets.every(({ members }) => members.every(({ results }) => results.every(isWithin)))
    ? range.high - range.low
    : null;
}

/** Numbers the results of a pool, equally for equal messages that drew equal numbers. */
class ResultNames {
  private readonly names = new Map<PoolResult, number>();
  private readonly terminal: boolean;

  constructor({ buckets, terminal }: CreditPool) {
    this.terminal = terminal;
    const known = new Map<string, number>();
    let next = 0;
    for (const { id, members } of buckets) {
      for (const { key, results } of members) {
        for (const result of results) {
          // A message that ends the episode has one result for all buckets.
          const shared = terminal ? key : result.source === null ? null : `${key} ${id} ${result.source}`;
          const name = (shared === null ? undefined : known.get(shared)) ?? next++;
          if (shared !== null) {
            known.set(shared, name);
          }
          this.names.set(result, name);
        }
      }
    }
  }

  /**
   * Returns the basis of a message's credit: the number of distinct results, of paid calls, and of
   * results that were taken from an equal one.
   */
  behind(buckets: readonly PoolBucket[], key: string): Pick<Headline, 'n' | 'evaluatorCalls' | 'reused'> {
    const seen = new Set<number>();
    let evaluatorCalls = 0;
    let reused = 0;
    let drawn = 0;
    for (const bucket of buckets) {
      const { own, draws } = splitMembers(bucket, key);
      drawn += draws.length;
      for (const { results } of [...own, ...draws.filter((draw) => draw.key !== key || !own.includes(draw))]) {
        for (const result of results) {
          evaluatorCalls += result.evaluatorCalls;
          if (result.value === null) {
            continue;
          }
          const name = this.names.get(result) ?? -1;
          if (seen.has(name) && result.evaluatorCalls === 0) {
            reused++;
          }
          seen.add(name);
        }
      }
    }
    return { n: this.terminal ? 1 + drawn : seen.size, evaluatorCalls, reused };
  }
}

/** Returns the range of the returns of a run: sums of nonnegative scores, clipped at the bound. */
export function returnRange(most: number, bound: number): ReturnRange {
  return { low: 0, high: Math.max(Math.min(bound, most), 0) };
}
