/** The requests of a run and its replays to servers: one row for each request that may be charged. */

import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import type { StoreReader, StoreWriter } from '../types.ts';
import { guardTriggers } from './schema.ts';

/** The SQL that adds it to a store. Tokens are those that the server counted, or an upper bound. */
export const SPENDING = `
CREATE TABLE spending (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  role TEXT NOT NULL,
  prompt INTEGER NOT NULL CHECK (prompt >= 0),
  completion INTEGER NOT NULL CHECK (completion >= 0)
) STRICT;
CREATE INDEX spending_by_role ON spending (run, role);
${guardTriggers('spending', 'id = NEW.id')}
`;

export function spendingReaders(session: Session): Pick<StoreReader, 'spent'> {
  const sum = session.db.prepare<[string, string], { calls: number; prompt: number; completion: number }>(`
    SELECT count(*) AS calls, coalesce(sum(prompt), 0) AS prompt, coalesce(sum(completion), 0) AS completion
    FROM spending WHERE run = ? AND role = ?`);
  return {
    spent: withStoreErrors(session, (run, role) => sum.get(run, role) ?? { calls: 0, prompt: 0, completion: 0 }),
  };
}

export function spendingWriter(session: Session): Pick<StoreWriter, 'insertSpending'> {
  const insert = session.db.prepare<[string, string, number, number]>(
    'INSERT INTO spending (run, role, prompt, completion) VALUES (?, ?, ?, ?)',
  );
  return {
    insertSpending: withStoreErrors(session, (run, role, { prompt, completion }) =>
      insert.run(run, role, prompt, completion),
    ),
  };
}
