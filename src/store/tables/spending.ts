/** The requests of a run and its replays to servers: one row for each request that may be charged. */

import { NOTHING_SPENT, type SpentSoFar } from '../../shared/endpointCost.ts';
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

/** The SQL that adds the cost of each row; null if the price is not known. */
export const SPENDING_MONEY = 'ALTER TABLE spending ADD COLUMN money REAL CHECK (money >= 0);';

export function spendingReaders(session: Session): Pick<StoreReader, 'spent'> {
  const sums = session.db.prepare<[string, string], Omit<SpentSoFar, 'unpriced'> & { priced: 0 | 1 }>(`
    SELECT money IS NOT NULL AS priced, count(*) AS calls, sum(prompt) AS prompt, sum(completion) AS completion,
      coalesce(sum(money), 0) AS money
    FROM spending WHERE run = ? AND role = ? GROUP BY priced`);
  return {
    spent: withStoreErrors(session, (run, role) =>
      sums
        .all(run, role)
        .reduce(
          (spent, { priced, calls, prompt, completion, money }) => ({
            calls: spent.calls + calls,
            prompt: spent.prompt + prompt,
            completion: spent.completion + completion,
            money: spent.money + money,
            unpriced: priced === 1 ? spent.unpriced : { prompt, completion },
          }),
          NOTHING_SPENT,
        ),
    ),
  };
}

export function spendingWriter(session: Session): Pick<StoreWriter, 'insertSpending'> {
  const insert = session.db.prepare<[string, string, number, number, number | null]>(
    'INSERT INTO spending (run, role, prompt, completion, money) VALUES (?, ?, ?, ?, ?)',
  );
  return {
    insertSpending: withStoreErrors(session, (run, role, { prompt, completion, money }) =>
      insert.run(run, role, prompt, completion, money),
    ),
  };
}
