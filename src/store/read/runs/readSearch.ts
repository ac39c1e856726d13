/** Searches the text of messages. */

import type { Message } from '../../../domain/message.ts';
import { withStoreErrors, type Session } from '../../files/sqlite.ts';
import { checkPage } from '../../rows.ts';
import type { Page, StoreReader } from '../../types.ts';

interface Asked {
  readonly match: string;
  readonly run: string | null;
  readonly role: string | null;
}

/** Largest number of hits that are counted and ranked. Ranking half a million hits takes a second. */
export const RANKED_HITS = 10_000;

const FOUND = `
  FROM message_search JOIN decision ON decision.message = message_search.rowid
  WHERE message_search MATCH @match AND (@run IS NULL OR decision.run = @run) AND (@role IS NULL OR decision.event_type = @role)`;

export function searchReaders(
  session: Session,
  messagesOf: (ids: readonly number[]) => Message[],
): Pick<StoreReader, 'searchMessages'> {
  const { db } = session;
  const count = db
    .prepare<[Asked], number>(`SELECT count(*) FROM (SELECT 1 ${FOUND} LIMIT ${RANKED_HITS + 1})`)
    .pluck();
  const best = db
    .prepare<[Asked & Page], number>(
      `SELECT decision.id ${FOUND} ORDER BY rank, decision.id DESC LIMIT @limit OFFSET @offset`,
    )
    .pluck();
  // FTS5 reads its rows backward in this order, so the query ends with the page. A second term would
  // make it sort all rows.
  const newest = db
    .prepare<[Asked & Page], number>(
      `SELECT decision.id ${FOUND} ORDER BY message_search.rowid DESC LIMIT @limit OFFSET @offset`,
    )
    .pluck();

  return {
    searchMessages: withStoreErrors(session, ({ query, run = null, role = null, offset, limit }) => {
      const page = checkPage({ offset, limit });
      const asked = { match: buildMatch(query), run, role };
      const found = count.get(asked) ?? 0;
      const more = found > RANKED_HITS;
      return {
        total: more ? RANKED_HITS : found,
        more,
        messages: messagesOf((more ? newest : best).all({ ...asked, ...page })),
      };
    }),
  };
}

/**
 * Returns the FTS5 expression for a text that the user typed: each word is a quoted prefix, and all
 * must match. FTS5 ignores a quoted word without a letter or digit beside others, and finds nothing if
 * it is the only one.
 */
export function buildMatch(query: string): string {
  return query
    .split(/[\s\0]+/u)
    .map((word) => `"${word.replaceAll('"', '""')}"*`)
    .join(' ');
}
