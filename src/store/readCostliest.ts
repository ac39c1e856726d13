/** Reading which message cost the most: the one with the smallest credit. */
import { IS_OTHER } from './readContinuations.ts';
import { SHOWN_FIRST } from './readMessages.ts';
import { guarded } from './sqlite.ts';
import type { Session } from './sqlite.ts';
import type { CreditedMessage, StoreReader, TreeGroup } from './types.ts';

/**
 * The smallest credit among the rows `candidate (id)`: what a message is worth in its own bucket; where it was never measured there, what the newest
 * replay request about it says that continued it as it was made.
 */
const SMALLEST = `
  measured (message, value) AS (
    SELECT decision.id, value FROM candidate CROSS JOIN decision ON decision.id = candidate.id
    CROSS JOIN credit ON credit.id = (SELECT id FROM credit WHERE credit.bucket = decision.bucket AND credit.decision = decision.id ${SHOWN_FIRST})
  ), asked (message, value, bucket) AS (
    SELECT bucket.message, value, max(bucket.id)
    FROM bucket CROSS JOIN credit ON credit.id = (SELECT id FROM credit WHERE credit.bucket = bucket.id AND credit.decision = bucket.message ${SHOWN_FIRST})
    WHERE bucket.run = @run AND bucket.instance = (SELECT id FROM instance WHERE uid_sha = @instance) AND origin = 'request' AND NOT ${IS_OTHER}
      AND bucket.message IN (SELECT id FROM candidate) AND bucket.message NOT IN (SELECT message FROM measured)
    GROUP BY bucket.message
  )
  SELECT message, value FROM (SELECT message, value FROM measured UNION ALL SELECT message, value FROM asked) ORDER BY value, message LIMIT 1`;

/** The readers of what cost the most. */
export function costliestReaders(session: Session): Pick<StoreReader, 'costliestOf' | 'costliestThrough'> {
  const { db } = session;
  const inGroup = db.prepare<[TreeGroup], CreditedMessage>(`
    WITH candidate (id) AS (
      SELECT id FROM decision WHERE run = @run AND phase = @phase AND iteration = @iteration AND instance = (SELECT id FROM instance WHERE uid_sha = @instance)
    ), ${SMALLEST}`);
  // A cross join is walked from left to right: else every message would be looked at for each on the way.
  const through = db.prepare<[{ message: number; run: string; instance: string }], CreditedMessage>(`
    WITH RECURSIVE above (id, parent) AS (
      SELECT id, parent FROM decision WHERE id = @message
      UNION ALL SELECT decision.id, decision.parent FROM above CROSS JOIN decision ON decision.id = above.parent
    ), below (id, phase, iteration) AS (
      SELECT id, phase, iteration FROM decision WHERE id = @message
      UNION ALL SELECT decision.id, decision.phase, decision.iteration FROM below CROSS JOIN decision ON decision.parent = below.id
      WHERE decision.phase = below.phase AND decision.iteration = below.iteration
    ), candidate (id) AS (SELECT id FROM above UNION SELECT id FROM below), ${SMALLEST}`);
  const place = db.prepare<[number], { run: string; instance: string }>('SELECT run, uid_sha AS instance FROM decision JOIN instance ON instance.id = decision.instance WHERE decision.id = ?');
  return {
    costliestOf: guarded(session, ({ run, phase, iteration, instance }) => inGroup.get({ run, phase, iteration, instance }) ?? null),
    costliestThrough: guarded(session, (message) => {
      const of = place.get(message);
      return of === undefined ? null : through.get({ message, ...of }) ?? null;
    }),
  };
}
