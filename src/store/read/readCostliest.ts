/** Finds the message with the lowest credit. */

import { IN_TREE } from '../conditions.ts';
import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { lowestFirstSql, mayBeLowestSql } from '../tables/creditOrder.ts';
import type { CreditedMessage, StoreReader, TreeGroup } from '../types.ts';
import { WITH_HEADLINE } from './readHeadlines.ts';

type Row = Omit<CreditedMessage, 'decided'> & { readonly decided: 0 | 1 };

/**
 * Selects the lowest of the rows `candidate (id)` in the order of `compareLowness`: of those whose
 * interval is below 0, or, if there are none, the clearest undecided candidate.
 */
const LOWEST = `
  SELECT decision.id AS message, headline.value AS value, verdict = 'hurt' AS decided
  FROM candidate CROSS JOIN decision ON decision.id = candidate.id ${WITH_HEADLINE}
  WHERE ${mayBeLowestSql('headline')} ORDER BY ${lowestFirstSql('headline', 'decision.id')} LIMIT 1`;

export function costliestReaders(session: Session): Pick<StoreReader, 'costliestOf' | 'costliestThrough'> {
  const { db } = session;
  const inGroup = db.prepare<[TreeGroup], Row>(`
    WITH candidate (id) AS (
      SELECT id FROM decision WHERE ${IN_TREE}
    ) ${LOWEST}`);
  // CROSS JOIN fixes the order from left to right. Without it, SQLite would scan every message for each
  // one on the path.
  const through = db.prepare<[{ message: number }], Row>(`
    WITH RECURSIVE above (id, parent) AS (
      SELECT id, parent FROM decision WHERE id = @message
      UNION ALL SELECT decision.id, decision.parent FROM above CROSS JOIN decision ON decision.id = above.parent AND decision.id < above.id
    ), below (id, phase, iteration) AS (
      SELECT id, phase, iteration FROM decision WHERE id = @message
      UNION ALL SELECT decision.id, decision.phase, decision.iteration FROM below CROSS JOIN decision ON decision.parent = below.id AND decision.id > below.id
      WHERE decision.phase = below.phase AND decision.iteration = below.iteration
    ), candidate (id) AS (SELECT id FROM above UNION SELECT id FROM below) ${LOWEST}`);
  const found = (row: Row | undefined): CreditedMessage | null =>
    row === undefined ? null : { ...row, decided: row.decided === 1 };
  return {
    costliestOf: withStoreErrors(session, ({ run, phase, iteration, problem }) =>
      found(inGroup.get({ run, phase, iteration, problem })),
    ),
    costliestThrough: withStoreErrors(session, (message) => found(through.get({ message }))),
  };
}
