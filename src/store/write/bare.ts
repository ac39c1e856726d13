/**
 * The baseline of the writer benchmark: better-sqlite3 doing the same work on the same schema, with
 * the same indexes, triggers, full text, settings and transactions, but with prepared values. While
 * the clock runs, it does no look-ups, hashes or checks. Only for measuring: it takes no lock and
 * translates no errors.
 */

import { connect } from '../files/sqlite.ts';
import type { Connection } from '../files/sqlite.ts';
import { viewAsBuffer, textHash, tokenHash } from '../tokens.ts';
import type { StoreWriter } from '../types.ts';
import { prepareForWriting } from './writer.ts';

/** The appends that a run makes in bulk. */
export type BulkAppender = Pick<
  StoreWriter,
  'insertBucket' | 'insertMessage' | 'insertAlternative' | 'insertEpisode' | 'insertReplay' | 'insertCredit'
>;

/** A transaction whose values are all prepared. */
export interface ReadyTransaction {
  readonly rows: number;
  readonly store: () => void;
}

export interface BareStore {
  /** Prepares all values that `work` appends. Store each transaction before preparing the next. */
  readonly ready: (work: (appender: BulkAppender) => void) => ReadyTransaction;
  readonly close: () => void;
}

const TABLES = ['text', 'context', 'bucket', 'decision', 'alternative', 'episode', 'replay', 'credit'] as const;
type Table = (typeof TABLES)[number];
type Value = number | string | Buffer | null;
type Add = (table: Table, values: readonly Value[]) => number;

export function openBareStore(path: string): BareStore {
  const db = connect(path, 'write');
  prepareForWriting(db, path, {});
  const inserts = new Map(TABLES.map((table) => [table, insertInto(db, table)]));
  const newest = new Map(
    TABLES.map((table) => [
      table,
      table === 'alternative' ? 0 : readNumber(db, `SELECT coalesce(max(id), 0) FROM ${table}`),
    ]),
  );

  function ready(work: (appender: BulkAppender) => void): ReadyTransaction {
    const rows: { readonly run: (values: readonly Value[]) => void; readonly values: readonly Value[] }[] = [];
    const add: Add = (table, values) => {
      const insert = inserts.get(table);
      const id = (newest.get(table) ?? 0) + 1;
      newest.set(table, id);
      if (insert !== undefined) {
        rows.push({ run: insert, values });
      }
      return id;
    };
    work(makeBulkAppender(db, add));
    const storeAll = db.transaction(() => {
      for (const { run, values } of rows) {
        run(values);
      }
    });
    return { rows: rows.length, store: () => storeAll.immediate() };
  }
  return { ready, close: () => db.close() };
}

function insertInto(db: Connection, table: Table): (values: readonly Value[]) => void {
  const columns = readNumber(db, `SELECT count(*) FROM pragma_table_info('${table}')`);
  const statement = db.prepare<[readonly Value[]]>(
    `INSERT INTO ${table} VALUES (${Array.from({ length: columns }, () => '?').join(', ')})`,
  );
  return (values) => statement.run(values);
}

/**
 * Returns functions that add rows and return their future ids. The values of a row are in the order of
 * the schema; SQLite fills the first, the id.
 */
function makeBulkAppender(db: Connection, add: Add): BulkAppender {
  const problemOf = prepareIdQuery(db, 'SELECT id FROM instance WHERE uid_sha = ?');
  const snapshotOf = prepareIdQuery(db, 'SELECT id FROM snapshot WHERE weights = ? AND run = ?');
  const storedText = prepareIdQuery(db, 'SELECT id FROM text WHERE sha256 = ?');
  const storedContext = prepareIdQuery(db, 'SELECT id FROM context WHERE key = ?');
  const problems = new Map<string, number>();
  const texts = new Map<string, number>();
  const contexts = new Map<string, number>();

  function remembered(among: Map<string, number>, name: string, make: () => number): number {
    const id = among.get(name) ?? make();
    among.set(name, id);
    return id;
  }
  const problemId = (uidSha: string): number => remembered(problems, uidSha, () => problemOf(uidSha) ?? 0);
  const textId = (body: string): number =>
    remembered(texts, body, () => {
      const sha256 = textHash(body);
      return storedText(sha256) ?? add('text', [null, sha256, body]);
    });
  const contextId = (key: string, body: string): number =>
    remembered(contexts, key, () => storedContext(key) ?? add('context', [null, key, textId(body)]));

  return {
    insertBucket: (row) =>
      add('bucket', [
        null,
        row.run,
        row.origin,
        row.iteration,
        problemId(row.problem),
        row.role,
        row.turn,
        row.contextKey,
        snapshotOf(row.snapshot, row.run) ?? 0,
        row.message,
      ]),
    insertMessage: (row) => {
      const {
        sampling: { temperature, topP, topK, maxNewTokens },
      } = row;
      // Contexts of the benchmark are whole.
      const context = contextId(row.contextKey, typeof row.context === 'string' ? row.context : row.context.since);
      return add('decision', [
        null,
        row.run,
        row.phase,
        row.iteration,
        problemId(row.problem),
        snapshotOf(row.snapshot, row.run) ?? 0,
        row.environment,
        row.role,
        row.turn,
        row.position,
        row.parent,
        row.bucket,
        row.siblingIndex,
        context,
        textId(row.text),
        row.streamKey,
        temperature,
        topP,
        topK,
        maxNewTokens,
        row.finish,
        row.promptTokens,
        row.reusedTokens,
        tokenHash(row.tokens),
        viewAsBuffer(row.tokens),
        viewAsBuffer(row.logprobs),
      ]);
    },
    insertAlternative: (bucket, message, index, original) =>
      add('alternative', [bucket, message, index, original ? 1 : 0]),
    insertEpisode: (row) =>
      add('episode', [
        null,
        row.run,
        row.phase,
        row.iteration,
        problemId(row.problem),
        row.leaf,
        row.return,
        row.rule,
        row.evaluatorCalls,
      ]),
    insertReplay: (row) =>
      add('replay', [
        null,
        row.bucket,
        row.alternative,
        row.replayIndex,
        row.leaf,
        row.return,
        row.evaluatorCalls,
        row.tokenHash,
        row.environment,
      ]),
    insertCredit: (bucket, message, row) =>
      add('credit', [
        null,
        bucket,
        message,
        row.estimator,
        row.value,
        row.low,
        row.high,
        row.n,
        row.evaluatorCalls,
        row.interval,
      ]),
  };
}

function prepareIdQuery(db: Connection, sql: string): (...key: string[]) => number | undefined {
  const statement = db.prepare<string[], number>(sql).pluck();
  return (...key) => statement.get(...key);
}

function readNumber(db: Connection, sql: string): number {
  return db.prepare<[], number>(sql).pluck().get() ?? 0;
}
