/** The account of each run, rewritten as it continues, so that a resumed run counts lost calls. */

import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import type { RunAccount, StoreReader, StoreWriter } from '../types.ts';

/** The SQL of store version 2. */
export const VERSION_2 = `
CREATE TABLE run_account (
  run TEXT PRIMARY KEY REFERENCES run,
  pending_calls INTEGER NOT NULL,
  lost_calls INTEGER NOT NULL,
  seconds REAL NOT NULL,
  training_seconds REAL NOT NULL,
  sampling_seconds REAL NOT NULL
) STRICT;
`;

export function accountReader(session: Session): Pick<StoreReader, 'account'> {
  const account = session.db.prepare<[string], RunAccount>(`
    SELECT pending_calls AS pendingCalls, lost_calls AS lostCalls, seconds, training_seconds AS trainingSeconds, sampling_seconds AS samplingSeconds
    FROM run_account WHERE run = ?`);
  return { account: withStoreErrors(session, (run) => account.get(run) ?? null) };
}

export function accountWriter(session: Session): Pick<StoreWriter, 'writeAccount'> {
  const write = session.db.prepare<[RunAccount & { run: string }]>(`
    INSERT INTO run_account (run, pending_calls, lost_calls, seconds, training_seconds, sampling_seconds)
    VALUES (@run, @pendingCalls, @lostCalls, @seconds, @trainingSeconds, @samplingSeconds)
    ON CONFLICT (run) DO UPDATE SET pending_calls = excluded.pending_calls, lost_calls = excluded.lost_calls, seconds = excluded.seconds,
      training_seconds = excluded.training_seconds, sampling_seconds = excluded.sampling_seconds`);
  return { writeAccount: withStoreErrors(session, (run, account) => write.run({ ...account, run })) };
}
