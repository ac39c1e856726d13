/**
 * Indexes the places of a log's entries, and counts the episodes of each question, in a temporary
 * database. SQLite keeps a few megabytes of it in memory and the rest in an unnamed file, whatever the
 * length of the log.
 */

import type { EntryGroup, EntryIndex, EntryKind } from '../../logs/entryIndex.ts';
import type { EntryPlace } from '../../logs/source.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { storeErrorCode, connectTemporary, type Connection } from '../../store/files/sqlite.ts';

/** Rows that are read together. */
const PAGE = 256;

const TABLES = `
CREATE TABLE entry (
  id INTEGER PRIMARY KEY, name TEXT, kind TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE TABLE counted (problem TEXT PRIMARY KEY, episodes INTEGER NOT NULL) WITHOUT ROWID;
BEGIN`;
/** Sorts once, outside of memory. An episode has the kind of its first entry. */
const GROUPS = `
CREATE INDEX entry_name ON entry (name, id, start, length) WHERE name IS NOT NULL;
CREATE TABLE episode (first INTEGER PRIMARY KEY, name TEXT, kind TEXT NOT NULL, count INTEGER NOT NULL);
INSERT INTO episode
SELECT first, name, (SELECT kind FROM entry WHERE id = first), count
FROM (
  SELECT min(id) AS first, name, count(*) AS count FROM entry WHERE name IS NOT NULL GROUP BY name
  UNION ALL SELECT id, NULL, 1 FROM entry WHERE name IS NULL
)
ORDER BY first`;

interface EpisodeRow {
  readonly first: number;
  readonly name: string | null;
  readonly kind: EntryKind;
  readonly count: number;
}

export class LogIndex implements EntryIndex {
  private readonly db: Connection;
  private readonly log: string;
  private isGrouped = false;
  private readonly insert;
  private readonly count;

  /**
   * @param log name for errors
   * @throws C3Error('store') if SQLite cannot be loaded
   */
  constructor(log: string) {
    this.log = log;
    this.db = connectTemporary();
    this.db.exec(TABLES);
    this.insert = this.db.prepare<[string | null, string, number, number]>(
      'INSERT INTO entry (name, kind, start, length) VALUES (?, ?, ?, ?)',
    );
    this.count = this.db
      .prepare<[string], number>(
        `INSERT INTO counted VALUES (?, 1) ON CONFLICT (problem) DO UPDATE SET episodes = episodes + 1
          RETURNING episodes - 1`,
      )
      .pluck();
  }

  /** @throws C3Error('store') if the temporary folder is full */
  add({ start, end }: EntryPlace, kind: EntryKind, group: string | null): void {
    this.written(() => this.insert.run(group, kind, start, end - start));
  }

  /** @throws C3Error('store') if the temporary folder is full */
  *groups(most: Readonly<Record<EntryKind, number>>): Generator<EntryGroup> {
    const { db } = this;
    if (!this.isGrouped) {
      this.written(() => db.exec(GROUPS));
      this.isGrouped = true;
    }
    const page = db.prepare<[number], EpisodeRow>(
      `SELECT first, name, kind, count FROM episode WHERE first > ? ORDER BY first LIMIT ${PAGE}`,
    );
    const alone = db.prepare<[number], EntryRow>('SELECT start, length FROM entry WHERE id = ?');
    const named = db.prepare<[string, number], EntryRow>(
      'SELECT start, length FROM entry WHERE name = ? ORDER BY id LIMIT ?',
    );
    for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)?.first ?? 0)) {
      for (const { first, name, kind, count } of rows) {
        const entries = name === null ? alone.all(first) : named.all(name, most[kind]);
        yield { kind, count, places: entries.map(({ start, length }) => ({ start, end: start + length, line: 0 })) };
      }
    }
  }

  /** Returns the number of earlier episodes of a problem. @throws C3Error('store') as `add` */
  readonly earlier = (problem: string): number => this.written(() => this.count.get(problem)) ?? 0;

  close(): void {
    this.db.close();
  }

  private written<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (storeErrorCode(error) === undefined) {
        throw error;
      }
      throw new C3Error(
        'store',
        `The index of ${this.log} could not be written to the temporary folder (${toErrorMessage(error)}): free some space there and import it again.`,
        { cause: error },
      );
    }
  }
}

interface EntryRow {
  readonly start: number;
  readonly length: number;
}
