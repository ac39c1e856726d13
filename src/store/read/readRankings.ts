/** Reads buckets by rank, for example by how much replacing and removing a message disagree. */

import {
  ALL_BUCKETS,
  measureDisagreement,
  type BucketFilter,
  type BucketKind,
  type BucketOrder,
  type RankedBucket,
  type Removal,
} from '../../domain/replay.ts';
import { withStoreErrors, type Session } from '../files/sqlite.ts';
import { checkPage, throwNotFound } from '../rows.ts';
import { tokenKeySql } from '../tables/headlinePools.ts';
import type { Page, RankingQuery, StoreReader } from '../types.ts';
import type { ReadContinuation } from './readContinuations.ts';
import { HEADLINE_COLUMNS, takeHeadline, type HeadlineRow } from './readHeadlines.ts';

/** Characters of a message in a ranked bucket. */
const PREVIEW = 240;

type MeasuredRow = Omit<RankedBucket, 'spread' | 'message' | 'text' | 'credit' | 'removal' | 'continuation'> & {
  readonly variance: number | null;
};
type MessageRow = Pick<RankedBucket, 'text'> & { readonly message: number } & HeadlineRow;

interface RemovalRow extends Omit<Removal, 'replace'> {
  readonly bucket: number;
  /** The bucket of the message, or null if it has none. */
  readonly own: number | null;
  readonly replace: number | null;
}

const MEASURED = `
  SELECT bucket.id AS bucket, origin, iteration, event_type AS role, turn, question, returns, variance
  FROM bucket JOIN bucket_measure ON bucket_measure.bucket = bucket.id JOIN instance ON instance.id = bucket.instance WHERE bucket.id = ?`;

/** Joins the headline of a message in the pool of the bucket. */
const IN_POOL = `
  LEFT JOIN headline ON headline.pool = (SELECT pool FROM bucket_pool WHERE bucket_pool.bucket = @bucket) AND headline.token_key = ${tokenKeySql('decision')}`;
const MESSAGE = `
  SELECT decision.id AS message, substr(text.body, 1, ${PREVIEW}) AS text, ${HEADLINE_COLUMNS}
  FROM decision JOIN text ON text.id = decision.message ${IN_POOL}`;

/** The first message of a bucket by `order`. */
const firstMessageSql = (order: string): string => `
  SELECT decision.id FROM decision ${IN_POOL}
  WHERE (decision.bucket = @bucket OR decision.id IN (SELECT decision FROM alternative WHERE bucket = @bucket)) AND ${order} IS NOT NULL AND verdict <> 'alone'
  ORDER BY ${order} DESC, decision.id LIMIT 1`;

/**
 * The messages that an empty one replaced, with the mean difference over all streams of the pool that
 * continued both, and their headlines.
 */
const REMOVALS = `
  WITH emptied (bucket, decision) AS (
    SELECT bucket, decision.id FROM decision JOIN text ON text.id = decision.message
    WHERE run = ? AND finish = 'typed' AND bucket IS NOT NULL AND trim(text.body, ' ' || char(9, 10, 11, 12, 13)) = ''
  ), pair (pool, message, bucket, difference) AS (
    SELECT pool, bucket.message, bucket.id, kept.return - gone.return
    FROM emptied CROSS JOIN bucket ON bucket.id = emptied.bucket CROSS JOIN bucket_pool ON bucket_pool.bucket = bucket.id
    CROSS JOIN replay AS kept ON kept.bucket = bucket.id AND kept.alternative = bucket.message
    CROSS JOIN replay AS gone ON gone.bucket = bucket.id AND gone.alternative = emptied.decision AND gone.replay_index = kept.replay_index
    WHERE kept.return IS NOT NULL AND gone.return IS NOT NULL
  )
  SELECT DISTINCT pair.bucket AS bucket, pair.message AS message, decision.bucket AS own, avg(difference) OVER (PARTITION BY pair.pool, pair.message) AS remove,
    headline.value AS replace
  FROM pair CROSS JOIN decision ON decision.id = pair.message
  LEFT JOIN headline ON headline.pool = pair.pool AND headline.token_key = ${tokenKeySql('decision')} AND verdict <> 'alone'
  ORDER BY pair.bucket`;

/** A filter for the statements: lists as JSON, null for an unrestricted field. */
interface Sieve {
  readonly roles: string | null;
  readonly origins: string | null;
  readonly measured: 0 | 1 | null;
}
type Ranking = Sieve & Page & { readonly run: string; readonly without: string };

/** True if two rows of `bucket_measure` and `bucket` pass a sieve. */
const passesSql = (measure: string, bucket: string): string => `
  (@roles IS NULL OR ${bucket}.event_type IN (SELECT value FROM json_each(@roles)))
  AND (@origins IS NULL OR ${bucket}.origin IN (SELECT value FROM json_each(@origins)))
  AND (@measured IS NULL OR (${measure}.credit IS NOT NULL) = @measured)`;
const PASSES = passesSql('bucket_measure', 'bucket');

/**
 * True if a passing bucket is the first passing one of its pool. The buckets of one pool have one
 * credit and represent one context.
 */
const FIRST_OF_POOL = `NOT EXISTS (
  SELECT 1 FROM bucket_pool AS own CROSS JOIN bucket_pool AS other ON other.pool = own.pool AND other.bucket < own.bucket
  CROSS JOIN bucket AS earlier ON earlier.id = other.bucket CROSS JOIN bucket_measure AS measured ON measured.bucket = earlier.id
  WHERE own.bucket = bucket.id AND ${passesSql('measured', 'earlier')})`;

const NOTHING_APART = { first: [], without: '[]' } as const;

export function rankingReaders(
  session: Session,
  continuationOf: ReadContinuation,
): Pick<StoreReader, 'rankedBuckets' | 'countRanked' | 'bucketKinds'> {
  const { db } = session;
  // CROSS JOIN fixes the order from left to right: the order of the index, and no further than the page.
  const byRank = (column: string): ((query: Ranking) => number[]) => {
    const statement = db
      .prepare<[Ranking], number>(
        `
      SELECT bucket FROM bucket_measure CROSS JOIN bucket ON bucket.id = bucket_measure.bucket
      WHERE bucket_measure.run = @run AND bucket NOT IN (SELECT value FROM json_each(@without)) AND ${PASSES} AND ${FIRST_OF_POOL}
      ORDER BY ${column} DESC, bucket LIMIT @limit OFFSET @offset`,
      )
      .pluck();
    return (query) => statement.all(query);
  };
  const byClearest = byRank('clearest');
  const byCredit = byRank('credit');
  const bySpread = byRank('variance');
  const countFirst = db
    .prepare<[Sieve & { readonly run: string; readonly without: string }], number>(
      `
    SELECT count(*) FROM bucket_measure CROSS JOIN bucket ON bucket.id = bucket_measure.bucket
    WHERE bucket_measure.run = @run AND bucket NOT IN (SELECT value FROM json_each(@without)) AND ${PASSES} AND ${FIRST_OF_POOL}`,
    )
    .pluck();
  const passing = db
    .prepare<[Sieve & { readonly buckets: string }], number>(
      `
    SELECT bucket.id FROM json_each(@buckets) AS asked CROSS JOIN bucket ON bucket.id = asked.value CROSS JOIN bucket_measure ON bucket_measure.bucket = bucket.id
    WHERE ${PASSES}`,
    )
    .pluck();
  const pooled = db
    .prepare<[string], number>(
      'SELECT bucket FROM bucket_pool WHERE pool IN (SELECT pool FROM bucket_pool WHERE bucket IN (SELECT value FROM json_each(?)))',
    )
    .pluck();
  const kinds = db.prepare<[string], BucketKind>(`
    SELECT event_type AS role, origin, iif(credit IS NULL, 'not measured', 'measured') AS credit, count(*) AS count
    FROM bucket CROSS JOIN bucket_measure ON bucket_measure.bucket = bucket.id WHERE bucket.run = ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`);
  const measured = db.prepare<[number], MeasuredRow>(MEASURED);
  const removals = db.prepare<[string], RemovalRow>(REMOVALS);
  const named = db.prepare<[{ bucket: number; message: number }], MessageRow>(
    `${MESSAGE} WHERE decision.id = @message`,
  );
  const foremostBy = (order: string): ((bucket: number) => MessageRow | undefined) => {
    const statement = db.prepare<[{ bucket: number }], MessageRow>(`
      ${MESSAGE} WHERE decision.id = coalesce((${firstMessageSql(order)}),
        (SELECT message FROM bucket WHERE id = @bucket),
        (SELECT min(id) FROM decision WHERE bucket = @bucket),
        (SELECT min(decision) FROM alternative WHERE bucket = @bucket))`);
    return (bucket) => statement.get({ bucket });
  };
  const clearestIn = foremostBy('rank');
  const largestIn = foremostBy('abs(headline.value)');

  /** Returns every bucket with a measured removal, largest distance first. */
  function removed(run: string): ReadonlyMap<number, Removal> {
    const found = new Map<number, Removal>();
    const keep = (bucket: number, removal: Removal): void => {
      const known = found.get(bucket);
      if (known === undefined || measureDisagreement(known) < measureDisagreement(removal)) {
        found.set(bucket, removal);
      }
    };
    for (const { bucket, own, message, replace, remove } of removals.all(run)) {
      if (replace === null) {
        continue;
      }
      keep(bucket, { message, replace, remove });
      // Two distributions are never compared with each other.
      if (own !== null && continuationOf(bucket) === null) {
        keep(own, { message, replace, remove });
      }
    }
    return new Map(
      [...found].sort(([one, a], [other, b]) => measureDisagreement(b) - measureDisagreement(a) || one - other),
    );
  }

  function ranked(bucket: number, removal: Removal | null, order: BucketOrder): RankedBucket {
    const { variance, ...row } = measured.get(bucket) ?? throwNotFound(session, 'bucket', bucket);
    const found =
      order === 'distance' && removal !== null
        ? named.get({ bucket, message: removal.message })
        : (order === 'credit' ? largestIn : clearestIn)(bucket);
    return {
      ...row,
      spread: variance === null ? null : Math.sqrt(variance),
      message: found?.message ?? null,
      text: found?.text ?? '',
      credit: found === undefined ? null : takeHeadline(found).credit,
      removal,
      continuation: continuationOf(bucket),
    };
  }

  /** Returns the first bucket by distance of each removed message, and all buckets of their pools. */
  function apart(
    removal: ReadonlyMap<number, Removal>,
    sieve: Sieve,
  ): { readonly first: readonly number[]; readonly without: string } {
    const kept = new Set(passing.all({ buckets: JSON.stringify([...removal.keys()]), ...sieve }));
    const byMessage = Map.groupBy(
      [...removal].filter(([bucket]) => kept.has(bucket)),
      ([, { message }]) => message,
    );
    const first = [...byMessage.values()].flatMap(([one]) => one?.[0] ?? []);
    const without = JSON.stringify([...new Set([...first, ...pooled.all(JSON.stringify(first))])]);
    return { first, without };
  }

  return {
    rankedBuckets: withStoreErrors(session, ({ run, order, filter = ALL_BUCKETS, ...page }: RankingQuery) => {
      const { offset, limit } = checkPage(page);
      const sieve = toSieve(filter);
      const removal = removed(run);
      const { first, without } = order === 'distance' ? apart(removal, sieve) : NOTHING_APART;
      const ahead = first.slice(offset, offset + limit);
      const by = { clearest: byClearest, credit: byCredit, spread: bySpread, distance: byClearest }[order];
      const rest = by({
        run,
        without,
        ...sieve,
        offset: Math.max(0, offset - first.length),
        limit: limit - ahead.length,
      });
      return [...ahead, ...rest].map((bucket) => ranked(bucket, removal.get(bucket) ?? null, order));
    }),
    countRanked: withStoreErrors(session, (run, order, filter = ALL_BUCKETS) => {
      const sieve = toSieve(filter);
      const { first, without } = order === 'distance' ? apart(removed(run), sieve) : NOTHING_APART;
      return first.length + (countFirst.get({ run, without, ...sieve }) ?? 0);
    }),
    bucketKinds: withStoreErrors(session, (run) => kinds.all(run)),
  };
}

function toSieve({ roles, origins, credit: [credit, ...both] }: BucketFilter): Sieve {
  const listed = (values: readonly string[]): string | null => (values.length === 0 ? null : JSON.stringify(values));
  return {
    roles: listed(roles),
    origins: listed(origins),
    measured: credit === undefined || both.length > 0 ? null : credit === 'measured' ? 1 : 0,
  };
}
