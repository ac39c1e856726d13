/**
 * Contexts that continue other contexts, as in conversations. Only the text after the base is stored,
 * so a conversation needs its own length and not the square of it. The key and the hash of such a
 * context are still those of the whole text.
 */

import { damagedStoreError } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { guardTriggers } from './schema.ts';

/**
 * The SQL that adds them to a store. A context with a base begins with the first `kept` UTF-16 units
 * of its base, which was stored before it; `since` is the text after them, `sha256` the hash of the
 * whole. Its row in `context` has the empty text, so it is incomplete without this row. Contexts of
 * earlier versions are whole.
 */
export const CONTEXT_BASES = `
CREATE TABLE context_base (
  context INTEGER PRIMARY KEY REFERENCES context,
  base INTEGER NOT NULL REFERENCES context CHECK (base < context),
  kept INTEGER NOT NULL CHECK (kept >= 0),
  since INTEGER NOT NULL REFERENCES text,
  sha256 TEXT NOT NULL
) STRICT;
${guardTriggers('context_base', 'context = NEW.context')}
`;

/** The key of the empty context, the only one whose whole text is empty. */
export const EMPTY_KEY = '7252660547403494068';

/**
 * Largest number of UTF-16 units of a context with a base: an untrusted store could have few rows that
 * repeat each other endlessly.
 */
export const MOST_GROWN = 2 ** 26;

interface Part {
  readonly base: number;
  readonly kept: number;
  readonly since: string;
}

/** Reads the whole text of a context by its row, in time linear in the length of its parts. */
export function contextReader({ db, path }: Session): (id: number) => string {
  const whole = db
    .prepare<[number], string>('SELECT body FROM context JOIN text ON text.id = context.text WHERE context.id = ?')
    .pluck();
  const parts = db.prepare<[number], Part>(`
    WITH RECURSIVE part (context, base, kept, since) AS (
      SELECT context, base, kept, since FROM context_base WHERE context = ?
      UNION ALL SELECT own.context, own.base, own.kept, own.since
      FROM part JOIN context_base AS own ON own.context = part.base AND own.context < part.context)
    SELECT base, kept, body AS since FROM part JOIN text ON text.id = part.since ORDER BY context DESC`);

  return (id) => {
    const said: string[] = [];
    let [first, wanted, length] = [id, Number.POSITIVE_INFINITY, 0];
    for (const { base, kept, since } of parts.iterate(id)) {
      const piece = since.slice(0, Math.max(0, wanted - kept));
      length += piece.length;
      if (length > MOST_GROWN) {
        throw damagedStoreError(path, `context ${id} has more than ${MOST_GROWN} characters`);
      }
      said.push(piece);
      [first, wanted] = [base, Math.min(wanted, kept)];
    }
    const start = whole.get(first);
    if (start === undefined) {
      throw damagedStoreError(path, `context ${id} has no text`);
    }
    return said.length === 0 ? start : [start.slice(0, wanted), ...said.toReversed()].join('');
  };
}
