/** Reading buckets by rank: which choice mattered most, and where replacing and removing a message disagree. */
import { ALL_BUCKETS, distanceOf, type BucketFilter, type BucketKind, type RankedBucket, type Removal } from '../shared/rankings.ts';
import type { Credit } from '../shared/records.ts';
import type { ContinuationOf } from './readContinuations.ts';
import { SHOWN_FIRST } from './readMessages.ts';
import { checkedPage, notFound } from './rows.ts';
import { guarded } from './sqlite.ts';
import type { Session } from './sqlite.ts';
import type { Page, RankingQuery, StoreReader } from './types.ts';

/** Characters of a message that a ranked bucket carries. */
const PREVIEW = 240;

type MeasuredRow = Omit<RankedBucket, 'spread' | 'message' | 'text' | 'credit' | 'removal' | 'continuation'> & { readonly variance: number | null };
type MessageRow = Pick<RankedBucket, 'text'> & { readonly message: number } & { readonly [Field in keyof Credit]: Credit[Field] | null };

interface RemovalRow extends Omit<Removal, 'replace'> {
  readonly bucket: number;
  /** The bucket that the message was said in; null where it was said in none. */
  readonly own: number | null;
  readonly replace: number | null;
  /** Whether others were sampled in the same bucket. */
  readonly others: 0 | 1;
}

const MEASURED = `
  SELECT bucket.id AS bucket, origin, iteration, event_type AS eventType, turn, question, returns, variance
  FROM bucket JOIN bucket_measure ON bucket_measure.bucket = bucket.id JOIN instance ON instance.id = bucket.instance WHERE bucket.id = ?`;

/** The messages of a bucket, each with the credit that it shows there. */
const MESSAGE = `
  SELECT decision.id AS message, substr(text.body, 1, ${PREVIEW}) AS text,
    estimator, value, low, high, n, credit.evaluator_calls AS evaluatorCalls, interval
  FROM decision JOIN text ON text.id = decision.message
  LEFT JOIN credit ON credit.id = (SELECT id FROM credit WHERE credit.bucket = @bucket AND credit.decision = decision.id ${SHOWN_FIRST})`;

/**
 * The messages that an empty one took the place of. What replacing was worth is read where others were sampled: in the same bucket, else
 * where the message was said.
 */
const REMOVALS = `
  WITH emptied (bucket, decision) AS (
    SELECT bucket, decision.id FROM decision JOIN text ON text.id = decision.message
    WHERE run = ? AND finish = 'typed' AND bucket IS NOT NULL AND trim(text.body, ' ' || char(9, 10, 11, 12, 13)) = ''
  ), pair (bucket, message, own, kept, gone, others) AS (
    SELECT bucket.id, bucket.message, decision.bucket,
      (SELECT avg(return) FROM replay WHERE replay.bucket = bucket.id AND alternative = bucket.message),
      (SELECT avg(return) FROM replay WHERE replay.bucket = bucket.id AND alternative = emptied.decision),
      EXISTS (SELECT 1 FROM replay WHERE replay.bucket = bucket.id AND return IS NOT NULL AND alternative NOT IN (bucket.message, emptied.decision))
    FROM emptied JOIN bucket ON bucket.id = emptied.bucket JOIN decision ON decision.id = bucket.message
  )
  SELECT bucket, message, own, kept - gone AS remove, others,
    (SELECT value FROM credit WHERE credit.bucket = iif(others, pair.bucket, own) AND credit.decision = message ${SHOWN_FIRST}) AS replace
  FROM pair WHERE kept IS NOT NULL AND gone IS NOT NULL ORDER BY bucket`;

/** A filter as the statements take it: lists in JSON, null for what is left open. */
interface Sieve {
  readonly roles: string | null;
  readonly origins: string | null;
  readonly measured: 0 | 1 | null;
}
type Ranking = Sieve & Page & { readonly run: string; readonly without: string };

/** Whether the rows `bucket_measure` and `bucket` pass a sieve. */
const PASSES = `
  (@roles IS NULL OR event_type IN (SELECT value FROM json_each(@roles))) AND (@origins IS NULL OR origin IN (SELECT value FROM json_each(@origins)))
  AND (@measured IS NULL OR (credit IS NOT NULL) = @measured)`;

/** The readers of rankings. */
export function rankingReaders(session: Session, continuationOf: ContinuationOf): Pick<StoreReader, 'rankedBuckets' | 'bucketKinds'> {
  const { db } = session;
  // A cross join is walked from left to right: in the order of the index, and no further than the page.
  const byRank = (column: string): ((query: Ranking) => number[]) => {
    const statement = db.prepare<[Ranking], number>(`
      SELECT bucket FROM bucket_measure CROSS JOIN bucket ON bucket.id = bucket_measure.bucket
      WHERE bucket_measure.run = @run AND bucket NOT IN (SELECT value FROM json_each(@without)) AND ${PASSES}
      ORDER BY ${column} DESC, bucket LIMIT @limit OFFSET @offset`).pluck();
    return (query) => statement.all(query);
  };
  const byCredit = byRank('credit');
  const bySpread = byRank('variance');
  const passing = db.prepare<[Sieve & { readonly buckets: string }], number>(`
    SELECT bucket.id FROM json_each(@buckets) AS asked CROSS JOIN bucket ON bucket.id = asked.value CROSS JOIN bucket_measure ON bucket_measure.bucket = bucket.id
    WHERE ${PASSES}`).pluck();
  const kinds = db.prepare<[string], BucketKind>(`
    SELECT event_type AS role, origin, iif(credit IS NULL, 'not measured', 'measured') AS credit, count(*) AS count
    FROM bucket CROSS JOIN bucket_measure ON bucket_measure.bucket = bucket.id WHERE bucket.run = ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`);
  const measured = db.prepare<[number], MeasuredRow>(MEASURED);
  const removals = db.prepare<[string], RemovalRow>(REMOVALS);
  const named = db.prepare<[{ bucket: number; message: number }], MessageRow>(`${MESSAGE} WHERE decision.id = @message`);
  const foremost = db.prepare<[{ bucket: number }], MessageRow>(`
    ${MESSAGE} WHERE decision.id = coalesce(
      (SELECT decision FROM credit WHERE credit.bucket = @bucket AND abs(value) = (SELECT credit FROM bucket_measure WHERE bucket_measure.bucket = @bucket)
        AND id = (SELECT id FROM credit AS own WHERE own.bucket = credit.bucket AND own.decision = credit.decision ${SHOWN_FIRST}) ORDER BY decision LIMIT 1),
      (SELECT message FROM bucket WHERE id = @bucket),
      (SELECT min(id) FROM decision WHERE bucket = @bucket),
      (SELECT min(decision) FROM alternative WHERE bucket = @bucket))`);

  /** Every bucket where a removal was measured, the largest distance first. */
  function removed(run: string): ReadonlyMap<number, Removal> {
    const found = new Map<number, Removal>();
    const keep = (bucket: number, removal: Removal): void => {
      const known = found.get(bucket);
      if (known === undefined || distanceOf(known) < distanceOf(removal)) found.set(bucket, removal);
    };
    for (const { bucket, own, message, replace, remove, others } of removals.all(run)) {
      if (replace === null) continue;
      const other = continuationOf(bucket) !== null;
      // Two distributions are never set against each other: what another one removed is compared with what it replaced, or with nothing.
      if (!other || others === 1) keep(bucket, { message, replace, remove });
      if (!other && own !== null) keep(own, { message, replace, remove });
    }
    return new Map([...found].sort(([one, a], [other, b]) => distanceOf(b) - distanceOf(a) || one - other));
  }

  function ranked(bucket: number, removal: Removal | null, atRemoval: boolean): RankedBucket {
    const { variance, ...row } = measured.get(bucket) ?? notFound(session, 'bucket', bucket);
    const found = atRemoval && removal !== null ? named.get({ bucket, message: removal.message }) : foremost.get({ bucket });
    return {
      ...row,
      spread: variance === null ? null : Math.sqrt(variance),
      message: found?.message ?? null,
      text: found?.text ?? '',
      credit: found === undefined ? null : creditOf(found),
      removal,
      continuation: continuationOf(bucket),
    };
  }

  return {
    rankedBuckets: guarded(session, ({ run, order, filter = ALL_BUCKETS, ...page }: RankingQuery) => {
      const { offset, limit } = checkedPage(page);
      const sieve = sieveOf(filter);
      const removal = removed(run);
      if (order !== 'distance') {
        return (order === 'credit' ? byCredit : bySpread)({ run, without: '[]', ...sieve, offset, limit }).map((bucket) => ranked(bucket, removal.get(bucket) ?? null, false));
      }
      const buckets = JSON.stringify([...removal.keys()]);
      const kept = new Set(passing.all({ buckets, ...sieve }));
      const first = [...removal.keys()].filter((bucket) => kept.has(bucket)).slice(offset, offset + limit);
      const rest = byCredit({ run, without: buckets, ...sieve, offset: Math.max(0, offset - kept.size), limit: limit - first.length });
      return [...first, ...rest].map((bucket) => ranked(bucket, removal.get(bucket) ?? null, true));
    }),
    bucketKinds: guarded(session, (run) => kinds.all(run)),
  };
}

function sieveOf({ roles, origins, credit: [credit, ...both] }: BucketFilter): Sieve {
  const listed = (values: readonly string[]): string | null => (values.length === 0 ? null : JSON.stringify(values));
  return { roles: listed(roles), origins: listed(origins), measured: credit === undefined || both.length > 0 ? null : credit === 'measured' ? 1 : 0 };
}

function creditOf({ estimator, value, low, high, n, evaluatorCalls, interval }: MessageRow): Credit | null {
  const credited = estimator !== null && value !== null && n !== null && evaluatorCalls !== null && interval !== null;
  return credited ? { estimator, value, low, high, n, evaluatorCalls, interval } : null;
}
