/** Reads the tables of LangGraph's SQLite saver, in a file that anybody may have made. */
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { C3Error } from '../../shared/errors.ts';
import { connect, connectAt, type Connection } from '../files/sqlite.ts';

export interface CheckpointRow {
  readonly id: string;
  readonly parent: string | null;
  /** How the value is written: `json` or `msgpack`. */
  readonly type: string;
  /** Null where it is longer than is read. */
  readonly value: Uint8Array | null;
}

const COLUMNS = ['thread_id', 'checkpoint_ns', 'checkpoint_id', 'parent_checkpoint_id', 'type', 'checkpoint'];
const LONGEST_VALUE = 2 ** 26;
const LONGEST_NAME = 1000;
/** What one thread may have. */
const MOST_CHECKPOINTS = 100_000;

export class CheckpointDatabase {
  private readonly db: Connection;

  /** @throws C3Error('input') for a database without such a table; C3Error('store') where SQLite cannot read it */
  constructor(path: string) {
    // Where no log is beside it, nothing is made beside it either.
    const hasLog = ['-wal', '-journal'].some(
      (suffix) => (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0) > 0,
    );
    this.db = hasLog ? connect(path, 'read') : connectAt(path, `${pathToFileURL(path).href}?immutable=1`);
    const { db } = this;
    db.pragma('query_only = ON');
    const table = db
      .prepare<[], { type: string; sql: string | null }>(
        `SELECT type, CAST(sql AS TEXT) AS sql FROM sqlite_schema WHERE name = 'checkpoints' LIMIT 1`,
      )
      .get();
    // A view or a virtual table could compute anything.
    const isTable = table?.type === 'table' && /^\s*CREATE\s+TABLE\b/iu.test(table.sql ?? '');
    const columns = isTable
      ? db.prepare<[], { name: string }>(`SELECT name FROM pragma_table_xinfo('checkpoints') WHERE hidden = 0`).all()
      : [];
    const missing = COLUMNS.filter((wanted) => !columns.some(({ name }) => name === wanted));
    if (missing.length > 0) {
      throw new C3Error(
        'input',
        `${path} is no database of LangGraph checkpoints: it has no table checkpoints with ${missing.join(', ')}; give the file of LangGraph's SQLite saver.`,
      );
    }
    const [damage] = db.prepare<[], { quick_check: string }>('PRAGMA quick_check(1)').all();
    if (damage?.quick_check !== 'ok') {
      throw new C3Error('input', `${path} is damaged; restore it from a copy.`);
    }
  }

  /** The threads in the order in which they began. */
  threads(): Iterable<string> {
    return this.db
      .prepare<[], { thread: string }>(
        `SELECT substr(CAST(thread_id AS TEXT), 1, ${String(LONGEST_NAME)}) AS thread FROM checkpoints
          GROUP BY thread_id ORDER BY MIN(checkpoint_id), thread_id`,
      )
      .all()
      .map(({ thread }) => thread);
  }

  /** How many checkpoints are of graphs within the graph. */
  nested(): number {
    return (
      this.db.prepare<[], { n: number }>(`SELECT COUNT(*) AS n FROM checkpoints WHERE checkpoint_ns <> ''`).get()?.n ??
      0
    );
  }

  /** The ids of a thread's checkpoints, oldest first, each with the one that it follows. */
  outline(thread: string): { readonly id: string; readonly parent: string | null }[] {
    return this.db
      .prepare<[string], { id: string; parent: string | null }>(
        `SELECT CAST(checkpoint_id AS TEXT) AS id, CAST(parent_checkpoint_id AS TEXT) AS parent FROM checkpoints
          WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY checkpoint_id LIMIT ${String(MOST_CHECKPOINTS)}`,
      )
      .all(thread);
  }

  /** A checkpoint; null where it has none of this id. */
  checkpoint(thread: string, id: string): CheckpointRow | null {
    const row = this.db
      .prepare<[number, string, string], { type: string | null; value: Uint8Array | null; parent: string | null }>(
        `SELECT CAST(type AS TEXT) AS type, CAST(parent_checkpoint_id AS TEXT) AS parent,
                CASE WHEN length(checkpoint) <= ? THEN CAST(checkpoint AS BLOB) END AS value
           FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?`,
      )
      .get(LONGEST_VALUE, thread, id);
    return row === undefined ? null : { id, parent: row.parent, type: row.type ?? 'json', value: row.value };
  }

  close(): void {
    this.db.close();
  }
}
