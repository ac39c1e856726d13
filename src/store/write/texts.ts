/**
 * Writes texts and contexts. They are content-addressed, and each is stored once. Of a context that
 * continues another one, only the text after it is stored.
 */

import type { GrownContext } from '../../domain/message.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Session } from '../files/sqlite.ts';
import { MOST_GROWN } from '../tables/contextBases.ts';
import { textHash } from '../tokens.ts';

/** Cached contexts. The alternatives of a bucket and their siblings use the same one repeatedly. */
const KEPT = { contexts: 256, characters: 2 ** 24 } as const;
/** Characters from which a base is searched for a context. A shorter one would save nothing. */
const LONG = 4096;
/** Shortest common beginning of a long context and its base. */
const HEAD = 1024;

export interface TextWriter {
  /** Returns the row of a text, which is stored on first use. */
  readonly textId: (body: string) => number;
  /**
   * Returns the row of a context, which is stored on first use.
   * @throws C3Error('store') if its key represents another context, or its base is not stored
   */
  readonly contextId: (key: string, context: string | GrownContext) => number;
  /** Calls `work` without the triggers that check for existing rows; nearly all rows are new. */
  readonly inBulk: <Result>(work: () => Result) => Result;
  /** Clears the cache, because rows may have been rolled back. */
  readonly forget: () => void;
}

/** The part of another context that a context begins with. */
interface Base {
  readonly id: number;
  /** UTF-16 units. */
  readonly kept: number;
}

export function textWriter({ db, path }: Session): TextWriter {
  const findText = db.prepare<[string], number>('SELECT id FROM text WHERE sha256 = ?').pluck();
  const insertText = db.prepare<[string, string]>('INSERT INTO text (sha256, body) VALUES (?, ?)');
  const insertNewText = db.prepare<[string, string]>(
    'INSERT INTO text (sha256, body) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const findContext = db.prepare<[string], { id: number; sha256: string }>(`
    SELECT context.id, coalesce(context_base.sha256, text.sha256) AS sha256
    FROM context JOIN text ON text.id = context.text LEFT JOIN context_base ON context_base.context = context.id WHERE key = ?`);
  const findKey = db.prepare<[string], number>('SELECT id FROM context WHERE key = ?').pluck();
  const insertContext = db.prepare<[string, number]>('INSERT INTO context (key, text) VALUES (?, ?)');
  const insertBase = db.prepare<[number, number, number, number, string]>(
    'INSERT INTO context_base (context, base, kept, since, sha256) VALUES (?, ?, ?, ?, ?)',
  );
  const kept = new KeptContexts();

  let bulk = false;

  function storeText(sha256: string, body: string): number {
    if (bulk) {
      const { changes, lastInsertRowid } = insertNewText.run(sha256, body);
      return changes === 0 ? (findText.get(sha256) ?? 0) : Number(lastInsertRowid);
    }
    return findText.get(sha256) ?? Number(insertText.run(sha256, body).lastInsertRowid);
  }

  const textId = (body: string): number => storeText(textHash(body), body);

  /**
   * Returns the row of a context that is stored, or inserts it.
   * @param insert stores it as a new one
   */
  function stored(key: string, sha256: string, insert: () => number): number {
    // In bulk, nearly all contexts are new, and the hash of a new one need not be read.
    const found = bulk && findKey.get(key) === undefined ? undefined : findContext.get(key);
    if (found !== undefined && found.sha256 !== sha256) {
      throw new C3Error(
        'store',
        `The context key ${key} identifies two contexts in the store ${path}, SHA-256 ${found.sha256} and ${sha256}: the second was not stored; keep both texts and report the collision.`,
      );
    }
    return found?.id ?? insert();
  }

  function insertGrown(key: string, sha256: string, base: Base, since: string): number {
    const id = Number(insertContext.run(key, textId('')).lastInsertRowid);
    insertBase.run(id, base.id, base.kept, textId(since), sha256);
    return id;
  }

  function wholeId(key: string, body: string): number {
    const known = kept.get(key);
    if (known?.body === body) {
      return known.id;
    }
    const sha256 = textHash(body);
    const id = stored(key, sha256, () => {
      const base = body.length < LONG || body.length > MOST_GROWN ? null : kept.baseOf(body);
      return base === null
        ? Number(insertContext.run(key, storeText(sha256, body)).lastInsertRowid)
        : insertGrown(key, sha256, base, body.slice(base.kept));
    });
    kept.add(key, { id, body });
    return id;
  }

  return {
    textId,
    contextId: (key, context) => {
      if (typeof context === 'string') {
        return wholeId(key, context);
      }
      const { base, baseLength, since, sha256 } = context;
      return stored(key, sha256, () => {
        const id = findKey.get(base);
        if (id === undefined) {
          throw new C3Error('store', `The context ${key} goes on from ${base}, which the store ${path} does not hold.`);
        }
        return insertGrown(key, sha256, { id, kept: baseLength }, since);
      });
    },
    inBulk: (work) => {
      bulk = true;
      try {
        return work();
      } finally {
        bulk = false;
      }
    },
    forget: () => kept.clear(),
  };
}

interface KeptContext {
  readonly id: number;
  readonly body: string;
}

/** The most recently stored contexts. */
class KeptContexts {
  private readonly contexts = new Map<string, KeptContext>();
  private characters = 0;

  get(key: string): KeptContext | undefined {
    return this.contexts.get(key);
  }

  add(key: string, context: KeptContext): void {
    this.remove(key);
    this.contexts.set(key, context);
    this.characters += context.body.length;
    for (const oldest of this.contexts.keys()) {
      if (this.contexts.size <= KEPT.contexts && this.characters <= KEPT.characters) {
        return;
      }
      this.remove(oldest);
    }
  }

  clear(): void {
    this.contexts.clear();
    this.characters = 0;
  }

  /** Returns the context with the longest common beginning, or null if that is at most half the text. */
  baseOf(body: string): Base | null {
    let best: Base = { id: 0, kept: 0 };
    for (const { id, body: other } of this.contexts.values()) {
      if (other.length >= HEAD && body.startsWith(other.slice(0, HEAD))) {
        const shared = commonLength(body, other);
        best = shared > best.kept ? { id, kept: shared } : best;
      }
    }
    return best.kept > body.length / 2 ? best : null;
  }

  private remove(key: string): void {
    this.characters -= this.contexts.get(key)?.body.length ?? 0;
    this.contexts.delete(key);
  }
}

/**
 * Returns the number of UTF-16 units that two texts have in common at the beginning, by binary search.
 * It does not split a character.
 */
function commonLength(a: string, b: string): number {
  let [low, high] = [0, Math.min(a.length, b.length)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (a.startsWith(b.slice(low, middle), low)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low > 0 && /[\uD800-\uDBFF]/.test(a.charAt(low - 1)) ? low - 1 : low;
}
