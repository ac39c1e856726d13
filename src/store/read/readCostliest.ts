/** Reading which message has the lowest credit. */
import { IN_TREE } from '../conditions.ts';
import { guarded } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { lowestFirstOf, mayBeLowestOf } from '../tables/creditOrder.ts';
import type { CreditedMessage, StoreReader, TreeGroup } from '../types.ts';
import { WITH_HEADLINE } from './readHeadlines.ts';

type Row = Omit<CreditedMessage, 'decided'> & { readonly decided: 0 | 1 };

/**
 * Of the rows `candidate (id)` the lowest, as `lowestFirst` has it: of those whose interval lies below 0; where there
 * is none, of the undecided ones, the clearest candidate.
 */
const LOWEST = `
  SELECT decision.id AS message, headline.value AS value, verdict = 'hurt' AS decided
  FROM candidate CROSS JOIN decision ON decision.id = candidate.id ${WITH_HEADLINE}
  WHERE ${mayBeLowestOf('headline')} ORDER BY ${lowestFirstOf('headline', 'decision.id')} LIMIT 1`;

/** The readers of what has the lowest credit. */
export function costliestReaders(session: Session): Pick<StoreReader, 'costliestOf' | 'costliestThrough'> {
  const { db } = session;
  const inGroup = db.prepare<[TreeGroup], Row>(`
    WITH candidate (id) AS (
      SELECT id FROM decision WHERE ${IN_TREE}
    ) ${LOWEST}`);
  // A cross join is walked from left to right: else every message would be looked at for each on the way.
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
    costliestOf: guarded(session, ({ run, phase, iteration, problem }) =>
      found(inGroup.get({ run, phase, iteration, problem })),
    ),
    costliestThrough: guarded(session, (message) => found(through.get({ message }))),
  };
}
