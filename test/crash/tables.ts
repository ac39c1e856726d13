/** A store's tables as plain rows, for comparing two stores, and what must hold of them at every moment. */

import type { Connection } from '../../src/store/files/sqlite.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Columns and JSON keys that say the time or what an interruption cost; everything else must come out the same. */
const CLOCKS: Readonly<Record<string, readonly string[]>> = {
  run: ['created_at', 'finished_at'],
  problem: ['seconds'],
  run_account: ['seconds', 'training_seconds', 'sampling_seconds', 'lost_calls'],
};
const CLOCK_KEYS = new Set(['seconds', 'generateSeconds', 'trainSeconds', 'lostEvaluatorCalls']);
const JSON_COLUMNS = new Set(['summary', 'ledger', 'metrics']);

/**
 * Every row of every table, in the order of its key.
 * @param names texts that differ from store to store, such as the run's id, with what to write in their place
 */
export function tablesOf(
  db: Connection,
  names: Readonly<Record<string, string>>,
): Readonly<Record<string, readonly Row[]>> {
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all();
  return Object.fromEntries(
    tables.map((table) => {
      // A table without row numbers has the order of its key.
      const keys = db
        .prepare<[string], string>('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk')
        .pluck()
        .all(table);
      const numbered =
        db
          .prepare<[string], number>("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?")
          .pluck()
          .get(table) === 0;
      const key = numbered ? 'rowid' : keys.join(', ');
      return [
        table,
        db
          .prepare<[], Row>(`SELECT * FROM "${table}" ORDER BY ${key}`)
          .all()
          .map((row) => comparable(table, row, names)),
      ];
    }),
  );
}

function comparable(table: string, row: Row, names: Readonly<Record<string, string>>): Row {
  return Object.fromEntries(
    Object.entries(row).flatMap(([column, value]) => {
      if (CLOCKS[table]?.includes(column)) {
        return [];
      }
      if (Buffer.isBuffer(value)) {
        return [[column, value.toString('hex')]];
      }
      if (typeof value !== 'string') {
        return [[column, value]];
      }
      const text = Object.entries(names).reduce((all, [name, stand]) => all.replaceAll(name, stand), value);
      return [[column, JSON_COLUMNS.has(column) ? withoutClocks(JSON.parse(text)) : text]];
    }),
  );
}

/** A JSON value without the keys that say the time, or what an interruption cost. */
export function withoutClocks(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (CLOCK_KEYS.has(key) ? [] : [[key, withoutClocks(inner)]])),
  );
}

export interface Sizes {
  /** Problems in a batch of an evaluation. */
  readonly batch: number;
  /** Problems of an evaluation. */
  readonly evaluated: number;
  /** Episodes of an iteration. */
  readonly episodes: number;
  /** With those that are drawn in the place of equal ones, at most; left out where there are none. */
  readonly mostEpisodes?: number;
}

/** Where messages are drawn again, one that is equal to another of its context may have no credit. */
const BEHIND_EQUAL = `
    AND NOT EXISTS (SELECT 1 FROM decision AS same WHERE same.run = decision.run AND same.iteration = decision.iteration AND same.context = decision.context
      AND same.message = decision.message AND same.id <> decision.id)`;

/** Queries that find nothing in a store of which no iteration and no evaluation batch is half written. */
const halfWrittenQueries = ({ batch, evaluated, episodes, mostEpisodes }: Sizes): Readonly<Record<string, string>> => ({
  'a message without its context or text': `
    SELECT decision.id FROM decision LEFT JOIN context ON context.id = decision.context LEFT JOIN text AS input ON input.id = context.text
    LEFT JOIN text AS said ON said.id = decision.message WHERE input.id IS NULL OR said.id IS NULL`,
  'a training message without its bucket': `
    SELECT decision.id FROM decision LEFT JOIN bucket ON bucket.id = decision.bucket WHERE phase = 'train' AND bucket.id IS NULL`,
  'a training message without its step': `
    SELECT decision.id FROM decision LEFT JOIN step ON step.run = decision.run AND step.iteration = decision.iteration
    WHERE phase = 'train' AND step.run IS NULL`,
  'a last message without its episode': `
    SELECT decision.id FROM decision WHERE NOT EXISTS (SELECT 1 FROM decision AS child WHERE child.parent = decision.id)
      AND NOT EXISTS (SELECT 1 FROM episode WHERE episode.leaf = decision.id)`,
  'an alternative without a replay': `
    SELECT decision.id FROM decision WHERE bucket IS NOT NULL AND NOT EXISTS (SELECT 1 FROM replay WHERE replay.bucket = decision.bucket AND alternative = decision.id)`,
  'an alternative without a credit, though there is another to compare it with': `
    SELECT decision.id FROM decision WHERE (SELECT count(*) FROM decision AS sibling WHERE sibling.bucket = decision.bucket) > 1 AND NOT EXISTS (SELECT 1 FROM credit WHERE credit.bucket = decision.bucket AND decision = decision.id)${mostEpisodes === undefined ? '' : BEHIND_EQUAL}`,
  'a part of an evaluation batch': `
    SELECT iteration, count(*) FROM episode WHERE phase = 'evaluate' GROUP BY iteration HAVING count(*) % ${batch} <> 0 AND count(*) <> ${evaluated}`,
  'a part of an iteration': `
    SELECT iteration, count(*) FROM episode WHERE phase = 'train' GROUP BY iteration HAVING count(*) NOT BETWEEN ${episodes} AND ${mostEpisodes ?? episodes}`,
  // A step without a gradient, such as one whose credits are all 0, leaves the weights as they are and gives none.
  'a finished step without the snapshot that it gave': `
    SELECT step.iteration FROM step WHERE json_extract(metrics, '$.gradientNorm') <> 0 AND NOT EXISTS (SELECT 1 FROM snapshot WHERE snapshot.run = step.run AND snapshot.iteration = step.iteration)`,
  'calls that are still awaited though the run is done': `
    SELECT run FROM run_account JOIN run ON run.id = run_account.run WHERE status = 'done' AND pending_calls <> 0`,
});

/** Returns a function that lists what is half written in a store, read in one transaction. */
export function halfWrittenIn(db: Connection, sizes: Sizes): () => string[] {
  const queries = Object.entries(halfWrittenQueries(sizes)).map(([what, sql]) => [what, db.prepare(sql)] as const);
  return db.transaction(() =>
    queries.flatMap(([what, query]) => {
      const found = query.get();
      return found === undefined ? [] : [`${what}: ${JSON.stringify(found)}`];
    }),
  );
}
