/** Writes headline credits directly into a store, for tests of their readers. */

import { openStream, uniform } from '../../src/credit/counter.ts';
import { creditPoolMembers } from '../../src/credit/headline.ts';
import type { Credit } from '../../src/shared/credit/credit.ts';
import { distanceFromZero, type Headline, type Verdict } from '../../src/shared/credit/headline.ts';
import { measureClearness } from '../../src/shared/credit/order.ts';
import { loadSqlite, type Connection } from '../../src/store/files/sqlite.ts';
import { tokenKeySql } from '../../src/store/tables/headlinePools.ts';
import { LIST_CLEAREST } from '../../src/store/tables/headlines.ts';
import type { HeadlineRule } from '../../src/store/write/writer.ts';

/** The engine's headline rule for runs with returns in [0, 1]. */
export const UNIT_RULE: HeadlineRule = {
  headlinesOf: creditPoolMembers,
  scaleOf: () => ({ low: 0, high: 1, solved: 1 }),
};

/** Returns a headline with these bounds, which is decided if they exclude 0. */
export function headline(value: number, changes: Partial<Headline> = {}): Headline {
  const { low, high } = { low: value - 0.1, high: value + 0.1, ...changes };
  const verdict: Verdict = low !== null && low > 0 ? 'helped' : high !== null && high < 0 ? 'hurt' : 'undecided';
  return {
    estimator: 'loo',
    value,
    low,
    high,
    n: 4,
    evaluatorCalls: 4,
    interval: 'betting',
    effectiveN: 2,
    reused: 0,
    copies: 1,
    verdict,
    more: verdict === 'undecided' ? 12 : 0,
    reason: null,
    ...changes,
  };
}

/**
 * Returns random credits of every verdict for tests of sorting. Some have no bounds, some have an
 * interval of width 0, and some are equal to another one.
 */
export function randomCredits(count: number, seed: number): readonly Headline[] {
  const stream = openStream(seed, 0);
  let drawn = 0;
  const random = (): number => uniform(stream, drawn++);
  const made: Headline[] = [];
  for (let index = 0; index < count; index++) {
    const value = Math.round(40 * (random() - 0.5)) / 20;
    const [below, above] = random() < 0.1 ? [0, 0] : [random(), random()];
    const kind = random();
    const none = { low: null, high: null };
    made.push(
      kind < 0.1
        ? headline(0, { ...none, verdict: 'alone' })
        : kind < 0.2
          ? headline(value, { ...none, verdict: 'undecided' })
          : kind < 0.3
            ? (made[Math.floor(random() * made.length)] ?? headline(value))
            : headline(value, { low: value - below, high: value + above }),
    );
  }
  return made;
}

/** Returns the headline with the numbers of a credit. */
export const headlineFrom = ({
  value,
  low,
  high,
  n,
  evaluatorCalls,
}: Pick<Credit, 'value' | 'low' | 'high' | 'n' | 'evaluatorCalls'>): Headline =>
  headline(value, { low, high, n, evaluatorCalls });

/** Puts a bucket into the pool of another one. */
export function joinPool(path: string, bucket: number, pool: number): void {
  const db = new (loadSqlite())(path);
  try {
    db.prepare('INSERT OR REPLACE INTO bucket_pool (bucket, pool, temperature) VALUES (?, ?, 1)').run(bucket, pool);
  } finally {
    db.close();
  }
}

interface GivenHeadline {
  readonly message: number;
  readonly credit: Headline;
  /** The bucket with the pool. The default is the bucket of the message. */
  readonly bucket?: number | null;
}

/** Gives a message a headline in the pool of a bucket, by default its own. */
export function setHeadline(path: string, message: number, credit: Headline, bucket: number | null = null): void {
  setHeadlines(path, [{ message, credit, bucket }]);
}

/** Gives headlines to messages. The store may be open elsewhere, but not in a transaction. */
export function setHeadlines(path: string, given: readonly GivenHeadline[]): void {
  const db = new (loadSqlite())(path);
  try {
    db.transaction(() => write(db, given)).immediate();
  } finally {
    db.close();
  }
}

function write(db: Connection, given: readonly GivenHeadline[]): void {
  const read = db.prepare<
    [number | null, number],
    { key: string; bucket: number; temperature: number; run: string; instance: number; phase: string }
  >(`
    SELECT ${tokenKeySql('decision')} AS key, coalesce(?, bucket) AS bucket, temperature, run, instance, phase FROM decision WHERE id = ?`);
  const join = db.prepare('INSERT OR IGNORE INTO bucket_pool (bucket, pool, temperature) VALUES (?, ?, ?)');
  const poolOf = db.prepare<[number], number>('SELECT pool FROM bucket_pool WHERE bucket = ?').pluck();
  const insert = db.prepare(`
    INSERT OR REPLACE INTO headline (pool, token_key, run, instance, message, estimator, value, low, high, n, evaluator_calls, interval, effective_n, reused, copies, verdict, more, reason, clear, rank)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const date = db.prepare('UPDATE bucket_pool SET newest = newest + 1 WHERE pool = ?');
  const measure = db.prepare(
    'UPDATE bucket_measure SET clearest = max(coalesce(clearest, -9), coalesce(?, -9)), credit = max(coalesce(credit, 0), abs(?)) WHERE bucket = ?',
  );
  const lists = new Map<string, { readonly run: string; readonly instance: number }>();
  for (const { message, credit, bucket = null } of given) {
    const row = read.get(bucket, message);
    if (row === undefined) {
      throw new Error(`no message ${message}`);
    }
    join.run(row.bucket, row.bucket, row.temperature);
    const pool = poolOf.get(row.bucket) ?? row.bucket;
    const rank = measureClearness(credit);
    insert.run(
      pool,
      row.key,
      row.run,
      row.instance,
      row.phase === 'replay' ? null : message,
      credit.estimator,
      credit.value,
      credit.low,
      credit.high,
      credit.n,
      credit.evaluatorCalls,
      credit.interval,
      credit.effectiveN,
      credit.reused,
      credit.copies,
      credit.verdict,
      credit.more,
      credit.reason,
      distanceFromZero(credit),
      rank,
    );
    date.run(pool);
    measure.run(rank, credit.value, row.bucket);
    const { run, instance } = row;
    lists.set(JSON.stringify([run, instance]), { run, instance });
  }
  // Once for each problem: a list reads all headlines of its problem.
  const list = db.prepare(LIST_CLEAREST);
  for (const one of lists.values()) {
    list.run(one);
  }
}
