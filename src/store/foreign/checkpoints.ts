/** Reads the tables of LangGraph's SQLite saver, in a file that anybody may have made. */
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { C3Error } from '../../shared/errors.ts';
import { connect, connectAt, type Connection } from '../files/sqlite.ts';

export interface CheckpointRow {
  /** How the value is written: `json` or `msgpack`. */
  readonly type: string;
  /** Null where it is longer than is read. */
  readonly value: Uint8Array | null;
}

/** What one task wrote of a step, to one channel. */
export interface WriteRow {
  readonly task: string;
  readonly channel: string;
  /** How the value is written: `json` or `msgpack`. */
  readonly type: string;
  readonly value: Uint8Array;
}

/** A graph of a thread: the thread's own, or one that runs within it. */
export interface GraphPlace {
  readonly thread: string;
  /** Empty for the thread's own. */
  readonly namespace: string;
}

const COLUMNS = ['thread_id', 'checkpoint_ns', 'checkpoint_id', 'parent_checkpoint_id', 'type', 'checkpoint'];
const LONGEST_VALUE = 2 ** 26;
const LONGEST_NAME = 1000;
/** What one thread may have. */
const MOST_CHECKPOINTS = 100_000;
const MOST_NAMESPACES = 10_000;
/** What the tasks of one step may write. */
const MOST_WRITES = 10_000;
const WRITE_COLUMNS = ['thread_id', 'checkpoint_ns', 'checkpoint_id', 'task_id', 'idx', 'channel', 'type', 'value'];

export class CheckpointDatabase {
  private readonly db: Connection;
  private readonly hasWrites: boolean;
  private readonly hasMetadata: boolean;

  /** @throws C3Error('input') for a database without such a table; C3Error('store') where SQLite cannot read it */
  constructor(path: string) {
    // Where no log is beside it, nothing is made beside it either.
    const hasLog = ['-wal', '-journal'].some(
      (suffix) => (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0) > 0,
    );
    this.db = hasLog ? connect(path, 'read') : connectAt(path, `${pathToFileURL(path).href}?immutable=1`);
    const { db } = this;
    db.pragma('query_only = ON');
    const missing = this.missing('checkpoints', COLUMNS);
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
    this.hasWrites = this.missing('writes', WRITE_COLUMNS).length === 0;
    this.hasMetadata = this.missing('checkpoints', ['metadata']).length === 0;
  }

  /** The columns that a table lacks; all of them for a view or a virtual table, which could compute anything. */
  private missing(name: string, wanted: readonly string[]): readonly string[] {
    const table = this.db
      .prepare<[string], { type: string; sql: string | null }>(
        `SELECT type, CAST(sql AS TEXT) AS sql FROM sqlite_schema WHERE name = ? LIMIT 1`,
      )
      .get(name);
    const isTable = table?.type === 'table' && /^\s*CREATE\s+TABLE\b/iu.test(table.sql ?? '');
    const columns = isTable
      ? this.db.prepare<[string], { name: string }>(`SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0`).all(name)
      : [];
    return wanted.filter((one) => !columns.some((column) => column.name === one));
  }

  /** The threads in the order in which they began. */
  threads(): Iterable<string> {
    return this.db
      .prepare<[], { thread: string }>(
        `SELECT substr(CAST(thread_id AS TEXT), 1, ${LONGEST_NAME}) AS thread FROM checkpoints
          GROUP BY thread_id ORDER BY MIN(checkpoint_id), thread_id`,
      )
      .all()
      .map(({ thread }) => thread);
  }

  /** The graphs that ran within a thread's own, in the order in which they began. */
  nested(thread: string): GraphPlace[] {
    return this.db
      .prepare<[string], { namespace: string }>(
        `SELECT CAST(checkpoint_ns AS TEXT) AS namespace FROM checkpoints WHERE thread_id = ? AND checkpoint_ns <> ''
          GROUP BY checkpoint_ns ORDER BY MIN(checkpoint_id), checkpoint_ns LIMIT ${MOST_NAMESPACES}`,
      )
      .all(thread)
      .map(({ namespace }) => ({ thread, namespace }));
  }

  /** The ids of a graph's checkpoints, oldest first, each with the one that it follows. */
  outline({ thread, namespace }: GraphPlace): { readonly id: string; readonly parent: string | null }[] {
    return this.db
      .prepare<[string, string], { id: string; parent: string | null }>(
        `SELECT CAST(checkpoint_id AS TEXT) AS id, CAST(parent_checkpoint_id AS TEXT) AS parent FROM checkpoints
          WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id LIMIT ${MOST_CHECKPOINTS}`,
      )
      .all(thread, namespace);
  }

  /** A checkpoint; null where it has none of this id. */
  checkpoint({ thread, namespace }: GraphPlace, id: string): CheckpointRow | null {
    const row = this.db
      .prepare<[number, string, string, string], { type: string | null; value: Uint8Array | null }>(
        `SELECT CAST(type AS TEXT) AS type, CASE WHEN length(checkpoint) <= ? THEN CAST(checkpoint AS BLOB) END AS value
           FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?`,
      )
      .get(LONGEST_VALUE, thread, namespace, id);
    return row === undefined ? null : { type: row.type ?? 'json', value: row.value };
  }

  /** What is kept about a checkpoint; null where there is nothing, or more than is read. */
  metadata({ thread, namespace }: GraphPlace, id: string): Uint8Array | null {
    return this.hasMetadata
      ? (this.db
          .prepare<[number, string, string, string], { value: Uint8Array | null }>(
            `SELECT CASE WHEN length(metadata) <= ? THEN CAST(metadata AS BLOB) END AS value
               FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?`,
          )
          .get(LONGEST_VALUE, thread, namespace, id)?.value ?? null)
      : null;
  }

  /** What the tasks wrote of the step that began at a checkpoint; what is longer than is read is left out. */
  writes({ thread, namespace }: GraphPlace, id: string): WriteRow[] {
    return this.hasWrites
      ? this.db
          .prepare<[string, string, string, number], WriteRow>(
            `SELECT CAST(task_id AS TEXT) AS task, CAST(channel AS TEXT) AS channel,
                    COALESCE(CAST(type AS TEXT), 'json') AS type, CAST(value AS BLOB) AS value
               FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
                AND value IS NOT NULL AND length(value) <= ?
              ORDER BY task_id, idx LIMIT ${MOST_WRITES}`,
          )
          .all(thread, namespace, id, LONGEST_VALUE)
      : [];
  }

  close(): void {
    this.db.close();
  }
}
