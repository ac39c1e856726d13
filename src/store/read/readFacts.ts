/** Reads the values that transcripts are filtered by: few columns of many messages at once. */

import { PROBLEM_NUMBER } from '../conditions.ts';
import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import type { MessageFacts, StoreReader, TreeGroup } from '../types.ts';
import { WITH_HEADLINE } from './readHeadlines.ts';
import type { ReadTree } from './readTrees.ts';
import { buildMatch } from './runs/readSearch.ts';

type FactReaders = Pick<StoreReader, 'facts' | 'searchIds' | 'labelNames' | 'labelledMessages'>;

/**
 * Messages with their label: the newest label on the message itself, or on the bucket that it is an
 * alternative of. An empty name is no label. CROSS JOIN fixes the order from left to right, because
 * there are few labels and many messages.
 */
const WORN = `
  WITH newest AS (SELECT message, bucket, name FROM label WHERE id IN (SELECT max(id) FROM label GROUP BY message, bucket)),
  worn (decision, name) AS (
    SELECT message, name FROM newest WHERE message IS NOT NULL
    UNION SELECT decision.id, name FROM newest CROSS JOIN decision ON decision.bucket = newest.bucket WHERE newest.message IS NULL
  )`;

export function factReaders(session: Session, treeOf: ReadTree): FactReaders {
  const { db } = session;
  const facts = db.prepare<[TreeGroup], Omit<MessageFacts, 'return'>>(`
    SELECT id, event_type AS role, iif(verdict = 'alone', NULL, headline.value) AS credit
    FROM decision ${WITH_HEADLINE} WHERE decision.run = @run AND phase = @phase
      AND iteration = @iteration AND decision.instance = ${PROBLEM_NUMBER}`);
  const found = db
    .prepare<[{ match: string; run: string; limit: number }], number>(
      `
    SELECT decision.id FROM message_search JOIN decision ON decision.message = message_search.rowid
    WHERE message_search MATCH @match AND decision.run = @run LIMIT @limit`,
    )
    .pluck();
  const names = db
    .prepare<[string], string>(
      `${WORN} SELECT DISTINCT name FROM worn CROSS JOIN decision ON decision.id = worn.decision WHERE run = ? AND name <> '' ORDER BY name`,
    )
    .pluck();
  const labelled = db
    .prepare<[string, string], number>(
      `${WORN} SELECT DISTINCT worn.decision FROM worn CROSS JOIN decision ON decision.id = worn.decision WHERE run = ? AND name = ?`,
    )
    .pluck();
  return {
    facts: withStoreErrors(session, ({ run, phase, iteration, problem }) => {
      const group = { run, phase, iteration, problem };
      const tree = treeOf(group);
      return facts.all(group).map((row) => ({ ...row, return: tree.outcome(row.id).return }));
    }),
    searchIds: withStoreErrors(session, (run, query, limit) => found.all({ run, match: buildMatch(query), limit })),
    labelNames: withStoreErrors(session, (run) => names.all(run)),
    labelledMessages: withStoreErrors(session, (run, name) => labelled.all(run, name)),
  };
}
