/** Reads the headline, the one credit that a message shows. */

import type { Headline } from '../../shared/credit/headline.ts';
import { ownTemperatureSql } from '../conditions.ts';
import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { CLEAREST_FIRST, lowestFirstSql, mayBeLowestSql } from '../tables/creditOrder.ts';
import { tokenKeySql } from '../tables/headlinePools.ts';
import type { PooledHeadline, StoreReader } from '../types.ts';

/**
 * The pool of the message `decision` in the context `context`: that of its own bucket, or, if it is in
 * no bucket, that of its context, weights and temperature.
 */
export const POOL = `
  iif(decision.bucket IS NOT NULL, (SELECT pool FROM bucket_pool WHERE bucket_pool.bucket = decision.bucket), (
    SELECT pool FROM bucket AS near CROSS JOIN bucket_pool ON bucket_pool.bucket = near.id
    WHERE near.run = decision.run AND near.event_type = decision.event_type
      AND near.context_key = (SELECT key FROM context WHERE context.id = decision.context) AND near.turn = decision.turn AND near.snapshot = decision.snapshot
      AND bucket_pool.temperature = coalesce(${ownTemperatureSql('decision')}, bucket_pool.temperature)
    ORDER BY near.message IS decision.id DESC, near.id LIMIT 1))`;

/** Joins the headline of the message `decision`. A CROSS JOIN to the left of it keeps the order. */
export const WITH_HEADLINE = `LEFT JOIN headline ON headline.pool = ${POOL} AND headline.token_key = ${tokenKeySql('decision')}`;

export const HEADLINE_COLUMNS = `
  headline.estimator AS headlineEstimator, headline.value AS headlineValue, headline.low AS headlineLow, headline.high AS headlineHigh, headline.n AS headlineN,
  headline.evaluator_calls AS headlineCalls, headline.interval AS headlineInterval, effective_n AS effectiveN, reused, copies, verdict, more, reason`;

export interface HeadlineRow {
  readonly headlineEstimator: string | null;
  readonly headlineValue: number | null;
  readonly headlineLow: number | null;
  readonly headlineHigh: number | null;
  readonly headlineN: number | null;
  readonly headlineCalls: number | null;
  readonly headlineInterval: string | null;
  readonly effectiveN: number | null;
  readonly reused: number | null;
  readonly copies: number | null;
  readonly verdict: Headline['verdict'] | null;
  readonly more: number | null;
  readonly reason: string | null;
}

/** Splits a row into its headline and its other columns. */
export function takeHeadline<Row extends HeadlineRow>(
  row: Row,
): { readonly credit: Headline | null; readonly rest: Omit<Row, keyof HeadlineRow> } {
  const {
    headlineEstimator,
    headlineValue,
    headlineLow,
    headlineHigh,
    headlineN,
    headlineCalls,
    headlineInterval,
    effectiveN,
    reused,
    copies,
    verdict,
    more,
    reason,
    ...rest
  } = row;
  // A row has all of them, or none if no headline was joined.
  if (
    headlineEstimator === null ||
    headlineValue === null ||
    headlineN === null ||
    headlineCalls === null ||
    headlineInterval === null
  ) {
    return { credit: null, rest };
  }
  if (effectiveN === null || reused === null || copies === null || verdict === null) {
    return { credit: null, rest };
  }
  const credit = {
    estimator: headlineEstimator,
    value: headlineValue,
    low: headlineLow,
    high: headlineHigh,
    n: headlineN,
    evaluatorCalls: headlineCalls,
    interval: headlineInterval,
    effectiveN,
    reused,
    copies,
    verdict,
    more,
    reason,
  };
  return { credit, rest };
}

interface OwnRow extends HeadlineRow {
  readonly message: number;
  readonly bucket: number;
}

/** Returns the headline of an alternative in the pool of a bucket. */
export type ReadHeadline = (bucket: number, message: number) => Headline | null;

export function headlineReader({ db }: Session): ReadHeadline {
  const read = db.prepare<[number, number], HeadlineRow>(`
    SELECT ${HEADLINE_COLUMNS} FROM bucket_pool CROSS JOIN decision CROSS JOIN headline ON headline.pool = bucket_pool.pool AND headline.token_key = ${tokenKeySql('decision')}
    WHERE bucket_pool.bucket = ? AND decision.id = ?`);
  return (bucket, message) => {
    const row = read.get(bucket, message);
    return row === undefined ? null : takeHeadline(row).credit;
  };
}

export function clearestReaders(session: Session): Pick<StoreReader, 'clearestMessages' | 'lowestMessages'> {
  // A run's own messages, without those that a replay sampled or the user typed.
  const OWN = `
    SELECT decision.id AS message, headline.pool AS bucket, ${HEADLINE_COLUMNS}
    FROM headline CROSS JOIN decision ON decision.id = headline.message WHERE headline.run = @run AND headline.message IS NOT NULL`;
  const ordered = (condition: string, order: string): ((run: string, limit: number) => PooledHeadline[]) => {
    const rows = session.db.prepare<[{ run: string; limit: number }], OwnRow>(
      `${OWN} AND ${condition} ORDER BY ${order} LIMIT @limit`,
    );
    return (run, limit) =>
      rows.all({ run, limit }).flatMap((row): PooledHeadline[] => {
        const {
          credit,
          rest: { message, bucket },
        } = takeHeadline(row);
        return credit === null ? [] : [{ message, bucket, credit }];
      });
  };
  const clearest = ordered('rank IS NOT NULL', CLEAREST_FIRST);
  return {
    clearestMessages: withStoreErrors(session, (run, limit) =>
      clearest(run, limit).map(({ message, credit }) => ({ message, credit })),
    ),
    lowestMessages: withStoreErrors(
      session,
      ordered(mayBeLowestSql('headline'), lowestFirstSql('headline', 'headline.message')),
    ),
  };
}
