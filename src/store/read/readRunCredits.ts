/** Reads the credits and verifications of a whole run without reading its buckets one by one. */

import { IS_OTHER, SHOWN_FIRST } from '../conditions.ts';
import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { checkPage } from '../rows.ts';
import type { Page, RunCredit, StoreReader } from '../types.ts';

export function runCreditReaders(session: Session): Pick<StoreReader, 'creditsOfRun' | 'verdictsOfRun'> {
  const { db } = session;
  // The buckets are joined first, newest first, so that a page ends early.
  const credits = db.prepare<[{ run: string } & Page], RunCredit>(`
    SELECT credit.bucket, credit.decision AS message, origin, event_type AS role, value, low, high
    FROM bucket CROSS JOIN credit ON credit.bucket = bucket.id
    WHERE bucket.run = @run AND NOT ${IS_OTHER} AND credit.id = (
      SELECT id FROM credit AS other WHERE other.bucket = credit.bucket AND other.decision = credit.decision ${SHOWN_FIRST})
    ORDER BY bucket.id DESC, credit.id LIMIT @limit OFFSET @offset`);
  const verdicts = db.prepare<[string], { result: 'identical' | 'different' | 'notComparable' | null; count: number }>(`
    SELECT result, count(*) AS count
    FROM bucket CROSS JOIN replay ON replay.bucket = bucket.id
    LEFT JOIN verification ON verification.id = (SELECT max(id) FROM verification WHERE verification.replay = replay.id)
    WHERE bucket.run = ? GROUP BY result`);
  return {
    creditsOfRun: withStoreErrors(session, (run, offset, limit) =>
      credits.all({ run, ...checkPage({ offset, limit }) }),
    ),
    verdictsOfRun: withStoreErrors(session, (run) => {
      const counts = new Map(verdicts.all(run).map(({ result, count }) => [result, count]));
      const of = (result: 'identical' | 'different' | 'notComparable' | null): number => counts.get(result) ?? 0;
      return {
        identical: of('identical'),
        different: of('different'),
        notComparable: of('notComparable'),
        unverified: of(null),
      };
    }),
  };
}
