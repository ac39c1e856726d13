/** Writing texts and contexts: content-addressed, each stored once. */
import { C3Error } from '../../shared/errors.ts';
import type { Session } from '../files/sqlite.ts';
import { textHash } from '../tokens.ts';

/** Contexts kept in memory; the alternatives of a bucket and their siblings ask for the same one again and again. */
const KEPT_CONTEXTS = 256;

export interface TextWriter {
  /** The row of a text, stored on first sight. */
  readonly textId: (body: string) => number;
  /** The row of a context. @throws C3Error('store') when its key represents another context */
  readonly contextId: (key: string, body: string) => number;
  /** Forgets what was remembered: rows may have been rolled back. */
  readonly forget: () => void;
}

export function textWriter({ db, path }: Session): TextWriter {
  const findText = db.prepare<[string], number>('SELECT id FROM text WHERE sha256 = ?').pluck();
  const insertText = db.prepare<[string, string]>('INSERT INTO text (sha256, body) VALUES (?, ?)');
  const findContext = db.prepare<[string], { id: number; sha256: string }>(
    'SELECT context.id, sha256 FROM context JOIN text ON text.id = context.text WHERE key = ?',
  );
  const insertContext = db.prepare<[string, number]>('INSERT INTO context (key, text) VALUES (?, ?)');
  const kept = new Map<string, { readonly id: number; readonly body: string }>();

  function storeText(sha256: string, body: string): number {
    return findText.get(sha256) ?? Number(insertText.run(sha256, body).lastInsertRowid);
  }

  function storeContext(key: string, body: string): number {
    const sha256 = textHash(body);
    const found = findContext.get(key);
    if (found === undefined) {
      return Number(insertContext.run(key, storeText(sha256, body)).lastInsertRowid);
    }
    if (found.sha256 !== sha256) {
      throw new C3Error(
        'store',
        `The context key ${key} identifies two contexts in the store ${path}, SHA-256 ${found.sha256} and ${sha256}: the second was not stored; keep both texts and report the collision.`,
      );
    }
    return found.id;
  }

  return {
    textId: (body) => storeText(textHash(body), body),
    contextId: (key, body) => {
      const known = kept.get(key);
      if (known?.body === body) {
        return known.id;
      }
      const id = storeContext(key, body);
      if (kept.size >= KEPT_CONTEXTS) {
        kept.clear();
      }
      kept.set(key, { id, body });
      return id;
    },
    forget: () => {
      kept.clear();
    },
  };
}
