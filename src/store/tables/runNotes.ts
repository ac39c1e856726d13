/** The user's titles, notes and tags of runs, appended and never changed; the last one counts. */

import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import type { StoreWriter } from '../types.ts';
import { guardTriggers } from './schema.ts';

/** The SQL of the store version that keeps them. `tags` is a JSON list of texts. */
export const RUN_NOTES = `
CREATE TABLE run_note (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  title TEXT NOT NULL,
  note TEXT NOT NULL,
  tags TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX run_note_run ON run_note (run);
${guardTriggers('run_note', 'id = NEW.id')}
`;

export function runNoteWriter({ db, path }: Session): Pick<StoreWriter, 'insertRunNote'> {
  const insert = db.prepare<[string, string, string, string, string]>(
    'INSERT INTO run_note (run, title, note, tags, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  return {
    insertRunNote: withStoreErrors({ db, path }, ({ run, title, note, tags, createdAt }) =>
      insert.run(run, title, note, JSON.stringify(tags), createdAt),
    ),
  };
}
