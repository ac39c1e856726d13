/**
 * The headline, the one credit that a message shows, kept beside the replays that it is derived from.
 * It can always be derived again by the rule that the writer was opened with.
 */

import type { CreditPool, PoolMember } from '../../shared/credit/creditPool.ts';
import { distanceFromZero, type Headline } from '../../shared/credit/headline.ts';
import { measureClearness } from '../../shared/credit/order.ts';
import type { ReturnScale } from '../../shared/credit/returns.ts';
import { type Connection, type Session, translateErrors } from '../files/sqlite.ts';
import { CLEAREST_FIRST, LISTED, listClearestSql } from './creditOrder.ts';
import { buildCreditPool, type ResultRow, RESULTS } from './headlinePools.ts';
import { scaleKeeper, scaleReader } from './returnScales.ts';

/**
 * The rule that derives headlines from pools. The formula is in src/credit, and the engine has the
 * configuration of the run; the store only keeps their results.
 */
export interface HeadlineRule {
  /** Returns the scale of a run's returns from the configuration in its row, or null if that has none. */
  scaleOf(runConfig: string): ReturnScale | null;
  /** Returns the headline of every alternative, by key. */
  headlinesOf(pool: CreditPool): ReadonlyMap<string, Headline>;
}

/**
 * The SQL of the store version that keeps headlines. The id of a pool is that of its first bucket.
 * `clear` is the bound nearest to 0, with its sign, if the interval excludes 0. `rank` was the
 * absolute value of that bound, or, below 0, the distance of an undecided credit from a decision;
 * since CREDIT_ORDER it is `clearness`. Buckets are ranked by the largest headline of their messages.
 * Problems show the clearest headline of the run's own messages; `message` is the first with these
 * tokens. At first, the headlines of every bucket are stale.
 */
export const HEADLINES = `
CREATE TABLE bucket_pool (
  bucket INTEGER PRIMARY KEY REFERENCES bucket,
  pool INTEGER NOT NULL REFERENCES bucket,
  temperature REAL NOT NULL,
  newest INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX bucket_pool_pool ON bucket_pool (pool);

CREATE TABLE headline (
  pool INTEGER NOT NULL REFERENCES bucket,
  token_key TEXT NOT NULL,
  run TEXT NOT NULL REFERENCES run,
  instance INTEGER NOT NULL REFERENCES instance,
  message INTEGER REFERENCES decision,
  estimator TEXT NOT NULL,
  value REAL NOT NULL,
  low REAL,
  high REAL,
  n INTEGER NOT NULL,
  evaluator_calls INTEGER NOT NULL,
  interval TEXT NOT NULL,
  effective_n INTEGER NOT NULL,
  reused INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  more INTEGER,
  reason TEXT,
  clear REAL NOT NULL,
  rank REAL,
  PRIMARY KEY (pool, token_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX headline_rank ON headline (run, rank DESC) WHERE message IS NOT NULL AND rank IS NOT NULL;
CREATE INDEX headline_problem ON headline (run, instance, rank DESC) WHERE message IS NOT NULL;

CREATE TABLE headline_stale (bucket INTEGER PRIMARY KEY REFERENCES bucket) STRICT;
INSERT INTO headline_stale SELECT id FROM bucket WHERE id IN (SELECT bucket FROM replay);

ALTER TABLE bucket_measure ADD COLUMN clearest REAL;
DROP TRIGGER credit_measured;
DROP TRIGGER credit_measured_again;
UPDATE bucket_measure SET credit = NULL WHERE credit IS NOT NULL;
DROP TRIGGER credit_listed;
UPDATE problem SET clear_message = NULL, clear_role = NULL, clear_value = NULL, clearness = NULL WHERE clear_message IS NOT NULL;
CREATE INDEX bucket_measure_clearest ON bucket_measure (run, clearest DESC, bucket);
`;

/** Keeps headlines up to date with their replays. */
export interface HeadlineKeeper {
  /** Reports that a run was stored or its configuration changed. */
  noteRun(run: string): void;
  /** Reports that a replay of the bucket is about to be stored. */
  note(bucket: number): void;
  /** Derives headlines that the open transaction made stale. Without a rule, marks them as stale. */
  deriveTouched(): void;
  /** Derives all stale headlines, in a transaction of its own. */
  refresh(): void;
  /** Forgets the touched buckets after a rollback. */
  forget(): void;
}

/** Copies the clearest headline to a problem, by `run` and `instance`. */
export const LIST_CLEAREST = listClearestSql(
  `SELECT run, instance, message, value, rank FROM headline WHERE run = @run AND instance = @instance AND ${LISTED} ORDER BY ${CLEAREST_FIRST} LIMIT 1`,
);

interface BucketRow {
  readonly run: string;
  readonly instance: number;
  readonly pool: number | null;
  readonly near: number | null;
  readonly temperature: number | null;
}

interface PoolPlace extends Pick<BucketRow, 'run' | 'instance'> {
  readonly pool: number;
}

type Column = string | number | null;

/**
 * Keeps headlines on a writer's connection.
 * @param rule null to derive none
 */
export function headlineKeeper(session: Session, rule: HeadlineRule | null): HeadlineKeeper {
  const { db, path } = session;
  const mark = db.prepare<[number]>('INSERT OR IGNORE INTO headline_stale (bucket) VALUES (?)');
  const stale = db.prepare<[], number>('SELECT bucket FROM headline_stale ORDER BY bucket').pluck();
  const clear = db.prepare<[]>('DELETE FROM headline_stale');
  const derive = rule === null ? null : makeHeadlineDeriver(db, rule);
  const scales = rule === null ? null : scaleKeeper(db, (config) => rule.scaleOf(config));
  /** Buckets of the open transaction. */
  const touched = new Set<number>();
  /** Buckets in the table headline_stale. */
  const marked = new Set<number>();

  function deriveTouched(): void {
    if (touched.size === 0) {
      return;
    }
    if (derive === null) {
      for (const bucket of touched) {
        mark.run(bucket);
      }
    } else {
      derive([...touched].sort((a, b) => a - b));
    }
    touched.clear();
  }

  return {
    deriveTouched,
    noteRun: (run) => scales?.derive(run),
    note: (bucket) => {
      if (db.inTransaction) {
        touched.add(bucket);
      } else if (!marked.has(bucket)) {
        mark.run(bucket);
        marked.add(bucket);
      }
    },
    refresh: () => {
      if (derive === null) {
        return;
      }
      translateErrors(path, () => {
        db.transaction(() => {
          scales?.deriveMissing();
          const waiting = stale.all();
          if (waiting.length === 0) {
            return;
          }
          derive(waiting);
          clear.run();
        }).immediate();
      });
      marked.clear();
    },
    forget: () => touched.clear(),
  };
}

/** Derives the headlines of the pools of buckets. */
function makeHeadlineDeriver(db: Connection, rule: HeadlineRule): (buckets: readonly number[]) => void {
  const bucketRow = db.prepare<[number], BucketRow>(`
    WITH own AS (
      SELECT bucket.*, (SELECT temperature FROM decision WHERE decision.bucket = bucket.id ORDER BY id LIMIT 1) AS temperature FROM bucket WHERE id = ?
    )
    SELECT own.run AS run, own.instance AS instance, own.temperature AS temperature, (SELECT pool FROM bucket_pool WHERE bucket_pool.bucket = own.id) AS pool, (
      SELECT pool FROM bucket AS other JOIN bucket_pool ON bucket_pool.bucket = other.id
      WHERE other.run = own.run AND other.event_type = own.event_type AND other.context_key = own.context_key AND other.turn = own.turn
        AND other.snapshot = own.snapshot AND bucket_pool.temperature = own.temperature ORDER BY other.id LIMIT 1) AS near
    FROM own`);
  const insertPool = db.prepare<[readonly Column[]]>(
    'INSERT INTO bucket_pool (bucket, pool, temperature) VALUES (?, ?, ?)',
  );
  const results = db.prepare<[number], ResultRow>(RESULTS);
  const firstBelow = db
    .prepare<[{ leaf: number; alternative: number }], number>(
      `
    WITH RECURSIVE path (id, parent) AS (
      SELECT id, parent FROM decision WHERE id = @leaf
      UNION ALL SELECT decision.id, decision.parent FROM path CROSS JOIN decision ON decision.id = path.parent AND decision.id < path.id WHERE path.parent <> @alternative
    ) SELECT id FROM path WHERE parent = @alternative`,
    )
    .pluck();
  const scaleOf = scaleReader(db);
  const removeOld = db.prepare<[number]>('DELETE FROM headline WHERE pool = ?');
  const insert = db.prepare<[readonly Column[]]>(`
    INSERT INTO headline (pool, token_key, run, instance, message, estimator, value, low, high, n, evaluator_calls, interval, effective_n, reused, copies, verdict,
      more, reason, clear, rank) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const measure = db.prepare<[number | null, number | null, number]>(
    'UPDATE bucket_measure SET clearest = ?, credit = ? WHERE bucket = ?',
  );
  const list = db.prepare<[{ run: string; instance: number }]>(LIST_CLEAREST);
  const date = db.prepare<[number, number]>('UPDATE bucket_pool SET newest = ? WHERE pool = ?');

  /**
   * Returns the pool of a bucket, or null while nothing was sampled or typed for it: then its
   * temperature is unknown and there is nothing to compare.
   */
  function poolOf(bucket: number): PoolPlace | null {
    const row = bucketRow.get(bucket);
    if (row?.temperature === undefined || row.temperature === null) {
      return null;
    }
    const pool = row.pool ?? row.near ?? bucket;
    if (row.pool === null) {
      insertPool.run([bucket, pool, row.temperature]);
    }
    return { pool, run: row.run, instance: row.instance };
  }

  /**
   * Returns the first message below the alternative on the path to a leaf. Results below the same
   * message are not independent.
   */
  function branchOf({ leaf, leafParent, message, origin }: ResultRow): number {
    if (leaf === message || leafParent === message || origin !== 'training') {
      return leaf;
    }
    return firstBelow.get({ leaf, alternative: message }) ?? leaf;
  }

  function derivePool({ pool, run, instance }: PoolPlace): void {
    const rows = results.all(pool);
    const { pool: found, rowCount, messages } = buildCreditPool(rows, scaleOf(run), branchOf);
    removeOld.run(pool);
    const ranks = new Map<string, number>();
    const amounts = new Map<string, number>();
    for (const [key, headline] of rule.headlinesOf(found)) {
      const rank = measureClearness(headline);
      if (rank !== null) {
        ranks.set(key, rank);
      }
      if (headline.verdict !== 'alone') {
        amounts.set(key, Math.abs(headline.value));
      }
      insert.run([
        pool,
        key,
        run,
        instance,
        messages.get(key) ?? null,
        headline.estimator,
        headline.value,
        headline.low,
        headline.high,
        headline.n,
        headline.evaluatorCalls,
        headline.interval,
        headline.effectiveN,
        headline.reused,
        headline.copies,
        headline.verdict,
        headline.more,
        headline.reason,
        distanceFromZero(headline),
        rank,
      ]);
    }
    for (const { id, members } of found.buckets) {
      measure.run(largestOfMembers(members, ranks), largestOfMembers(members, amounts), id);
    }
    if (rowCount > 0) {
      date.run(
        rows.reduce((newest, { replay }) => Math.max(newest, replay), 0),
        pool,
      );
    }
  }

  return (buckets) => {
    const pools = new Map<number, PoolPlace>();
    for (const bucket of buckets) {
      const found = poolOf(bucket);
      if (found !== null) {
        pools.set(found.pool, found);
      }
    }
    for (const pool of pools.values()) {
      derivePool(pool);
    }
    for (const { run, instance } of new Map(
      [...pools.values()].map((place) => [`${place.run} ${place.instance}`, place]),
    ).values()) {
      list.run({ run, instance });
    }
  };
}

function largestOfMembers(members: readonly PoolMember[], of: ReadonlyMap<string, number>): number | null {
  return members.reduce<number | null>((best, { key }) => {
    const value = of.get(key) ?? null;
    return value === null || (best !== null && best >= value) ? best : value;
  }, null);
}
