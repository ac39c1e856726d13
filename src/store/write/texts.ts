/** Writing texts and contexts: content-addressed, each stored once, and of contexts that go on what was said since. */
import type { GrownContext } from '../../domain/message.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Session } from '../files/sqlite.ts';
import { MOST_GROWN } from '../tables/contextBases.ts';
import { textHash } from '../tokens.ts';

/** Contexts kept in memory; the alternatives of a bucket and their siblings ask for the same one again and again. */
const KEPT = { contexts: 256, characters: 2 ** 24 } as const;
/** Characters from which a context is looked for among those kept: of a short one nothing would be saved. */
const LONG = 4096;
/** What two long contexts begin with alike at least, where one goes on from the other. */
const HEAD = 1024;

export interface TextWriter {
  /** The row of a text, stored on first sight. */
  readonly textId: (body: string) => number;
  /**
   * The row of a context.
   * @throws C3Error('store') when its key represents another context, or what it goes on from is not stored
   */
  readonly contextId: (key: string, context: string | GrownContext) => number;
  /** Works while no trigger looks whether a row is there already: nearly all are new, and each is looked for once. */
  readonly inBulk: <Result>(work: () => Result) => Result;
  /** Forgets what was remembered: rows may have been rolled back. */
  readonly forget: () => void;
}

/** What a context has of another one. */
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

  /** @param insert stores it as a new one */
  function stored(key: string, sha256: string, insert: () => number): number {
    // Of those that are not there, which are nearly all of many, no hash is looked for.
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

/** The contexts that were stored last. */
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

  /** The one that a text shares the most with; null where that is not most of the text. */
  baseOf(body: string): Base | null {
    let best: Base = { id: 0, kept: 0 };
    for (const { id, body: other } of this.contexts.values()) {
      if (other.length >= HEAD && body.startsWith(other.slice(0, HEAD))) {
        const shared = sharedLength(body, other);
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

/** How many UTF-16 units two texts begin with alike, by halving; no character is divided. */
function sharedLength(a: string, b: string): number {
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
