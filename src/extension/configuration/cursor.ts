/**
 * Where in a configuration a cursor is: at a key of some section, or at the value of a key. The text may be
 * unfinished.
 */
import { isMap, isPair, isScalar, isSeq, visit, type Document, type Scalar } from 'yaml';
import { parseYaml } from '../../shared/text/yaml.ts';
import { keyAt, type ConfigKey } from './keys.ts';

export type KeyPath = readonly (string | number)[];

interface Word {
  /** Offsets of the word that the cursor is in or behind. */
  readonly start: number;
  readonly end: number;
}

export interface KeyPlace extends Word {
  readonly kind: 'key';
  /** The section. */
  readonly path: KeyPath;
  /** Keys that the section has already, the word under the cursor not among them. */
  readonly present: readonly string[];
  /** Whether the section is written in braces. */
  readonly flow: boolean;
  /** Whether the key has its colon already. */
  readonly colon: boolean;
}

export interface ValuePlace extends Word {
  readonly kind: 'value';
  /** The key, and the index in its list. */
  readonly path: KeyPath;
  /** Whether a space has to come between the colon and the value. */
  readonly space: boolean;
}

export type Place = KeyPlace | ValuePlace;

/** A word that no configuration holds; put where the cursor is, it says what the parser takes that place for. */
const MARK = 'c3cursor7f3a';
const WORD = /[^\s"'{}[\],:#]*/u;

/**
 * Null where nothing can be said, as within a remark.
 * @param keys that the text may have
 */
export function placeAt(text: string, offset: number, keys: ConfigKey): Place | null {
  const start = offset - (new RegExp(`${WORD.source}$`, 'u').exec(text.slice(0, offset))?.[0].length ?? 0);
  const end = offset + (WORD.exec(text.slice(offset))?.[0].length ?? 0);
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const colon = /^[ \t]*:/u.test(text.slice(end));
  const space = before.endsWith(':');
  const asked = (marker: string): Place | null => {
    const found = find(parseYaml(text.slice(0, start) + marker + text.slice(end)));
    if (found === null) {
      return null;
    }
    return found.kind === 'key'
      ? { kind: 'key', start, end, colon, path: found.path, present: found.present, flow: found.flow }
      : { kind: 'value', start, end, space, path: found.path };
  };
  if (before.trim() !== '') {
    return asked(`${space ? ' ' : ''}${MARK}`);
  }
  // The start of a line may be a key without its colon yet, or a value that has the line to itself.
  const key = asked(colon ? MARK : `${MARK}: `);
  return key?.kind === 'key' && keyAt(key.path, keys)?.kind === 'section' ? key : asked(MARK);
}

type Found =
  | { readonly kind: 'key'; readonly path: KeyPath; readonly present: readonly string[]; readonly flow: boolean }
  | { readonly kind: 'value'; readonly path: KeyPath };

function find(document: Document): Found | null {
  const at: { found: Found | null } = { found: null };
  eachScalar(document, ({ value }, path, role, holder) => {
    if (!String(value).includes(MARK)) {
      return false;
    }
    if (role === 'key' && isMap(holder)) {
      const present = holder.items.flatMap(({ key }) =>
        isScalar(key) && !String(key.value).includes(MARK) ? [String(key.value)] : [],
      );
      at.found = { kind: 'key', path: path(), present, flow: holder.flow === true };
    } else if (value === MARK) {
      at.found = { kind: 'value', path: path() };
    }
    // A value that continues beside the cursor is text, of which nothing is known.
    return true;
  });
  return at.found;
}

/**
 * Goes through the scalars of a document, keys among them, until one is taken.
 * @param take gets the path of the key or the value (a key's own name is not in it), what it is, and the map or list
 *   around it
 */
export function eachScalar(
  document: Document,
  take: (scalar: Scalar, path: () => KeyPath, role: 'key' | 'value', holder: unknown) => boolean,
): void {
  visit(document, {
    Scalar(role, node, ancestors) {
      const path = (): KeyPath =>
        ancestors.flatMap((ancestor, index): (string | number)[] => {
          const next: unknown = ancestors[index + 1] ?? node;
          if (isSeq(ancestor)) {
            return [ancestor.items.indexOf(next)];
          }
          if (isPair(ancestor) && ancestor.key !== next) {
            return [isScalar(ancestor.key) ? String(ancestor.key.value) : ''];
          }
          return [];
        });
      const holder = ancestors.findLast((ancestor) => isMap(ancestor) || isSeq(ancestor));
      return take(node, path, role === 'key' ? 'key' : 'value', holder) ? visit.BREAK : undefined;
    },
  });
}
