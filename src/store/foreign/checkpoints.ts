/** Reads the tables of LangGraph's SQLite saver from an untrusted file. */

import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { C3Error } from '../../shared/errors.ts';
import { connect, connectToUri, type Connection } from '../files/sqlite.ts';

export interface CheckpointRow {
  /** Encoding of the value: `json` or `msgpack`. */
  readonly type: string;
  /** Null if it is longer than LONGEST_VALUE. */
  readonly value: Uint8Array | null;
}

/** A value that one task of a step wrote to one channel. */
export interface WriteRow {
  readonly task: string;
  readonly channel: string;
  /** Encoding of the value: `json` or `msgpack`. */
  readonly type: string;
  readonly value: Uint8Array;
}

/** A graph of a thread: its main graph, or one that runs within it. */
export interface GraphPlace {
  readonly thread: string;
  /** Empty for the main graph. */
  readonly namespace: string;
}

const COLUMNS = ['thread_id', 'checkpoint_ns', 'checkpoint_id', 'parent_checkpoint_id', 'type', 'checkpoint'];
const LONGEST_VALUE = 2 ** 26;
const LONGEST_NAME = 1000;
/** Limits for one thread. */
const MOST_CHECKPOINTS = 100_000;
const MOST_NAMESPACES = 10_000;
/** Limit for the writes of the tasks of one step. */
const MOST_WRITES = 10_000;
const WRITE_COLUMNS = ['thread_id', 'checkpoint_ns', 'checkpoint_id', 'task_id', 'idx', 'channel', 'type', 'value'];

export class CheckpointDatabase {
  private readonly db: Connection;
  private readonly hasWrites: boolean;
  private readonly hasMetadata: boolean;

  /**
   * @throws C3Error('input') for a database without such a table
   * @throws C3Error('store') if SQLite cannot read it
   */
  constructor(path: string) {
    // Without a log, the file is opened as immutable, so that no files are created beside it.
    const hasLog = ['-wal', '-journal'].some(
      (suffix) => (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0) > 0,
    );
    this.db = hasLog ? connect(path, 'read') : connectToUri(path, `${pathToFileURL(path).href}?immutable=1`);
    const { db } = this;
    db.pragma('query_only = ON');
    const missing = this.missing('checkpoints', COLUMNS);
    if (missing.length > 0) {
      throw new C3Error(
        'input',
        `${path} is not a database of LangGraph checkpoints: it has no table checkpoints with ${missing.join(', ')}; give the file of LangGraph's SQLite saver.`,
      );
    }
    const [damage] = db.prepare<[], { quick_check: string }>('PRAGMA quick_check(1)').all();
    if (damage?.quick_check !== 'ok') {
      throw new C3Error('input', `${path} is damaged; restore it from a copy.`);
    }
    this.hasWrites = this.missing('writes', WRITE_COLUMNS).length === 0;
    this.hasMetadata = this.missing('checkpoints', ['metadata']).length === 0;
  }

  /** Returns the columns that a table lacks: all for a view or virtual table, which could compute. */
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

  /** Lists the threads in the order of their beginnings. */
  threads(): Iterable<string> {
    return this.db
      .prepare<[], { thread: string }>(
        `SELECT substr(CAST(thread_id AS TEXT), 1, ${LONGEST_NAME}) AS thread FROM checkpoints
          GROUP BY thread_id ORDER BY MIN(checkpoint_id), thread_id`,
      )
      .all()
      .map(({ thread }) => thread);
  }

  /** Lists the graphs that ran within the main graph of a thread, in the order of their beginnings. */
  nested(thread: string): GraphPlace[] {
    return this.db
      .prepare<[string], { namespace: string }>(
        `SELECT CAST(checkpoint_ns AS TEXT) AS namespace FROM checkpoints WHERE thread_id = ? AND checkpoint_ns <> ''
          GROUP BY checkpoint_ns ORDER BY MIN(checkpoint_id), checkpoint_ns LIMIT ${MOST_NAMESPACES}`,
      )
      .all(thread)
      .map(({ namespace }) => ({ thread, namespace }));
  }

  /** Lists the ids of a graph's checkpoints, oldest first, with their parents. */
  outline({ thread, namespace }: GraphPlace): { readonly id: string; readonly parent: string | null }[] {
    return this.db
      .prepare<[string, string], { id: string; parent: string | null }>(
        `SELECT CAST(checkpoint_id AS TEXT) AS id, CAST(parent_checkpoint_id AS TEXT) AS parent FROM checkpoints
          WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id LIMIT ${MOST_CHECKPOINTS}`,
      )
      .all(thread, namespace);
  }

  /** Returns a checkpoint, or null if there is none with this id. */
  checkpoint({ thread, namespace }: GraphPlace, id: string): CheckpointRow | null {
    const row = this.db
      .prepare<[number, string, string, string], { type: string | null; value: Uint8Array | null }>(
        `SELECT CAST(type AS TEXT) AS type, CASE WHEN length(checkpoint) <= ? THEN CAST(checkpoint AS BLOB) END AS value
           FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?`,
      )
      .get(LONGEST_VALUE, thread, namespace, id);
    return row === undefined ? null : { type: row.type ?? 'json', value: row.value };
  }

  /** Returns the metadata of a checkpoint, or null if there are none or they are too long. */
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

  /** Lists the task writes of the step that began at a checkpoint, without too long ones. */
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
