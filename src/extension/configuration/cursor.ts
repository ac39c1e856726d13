/**
 * Locates the cursor in a configuration: at a key of a section, or at the value of a key. The text may
 * be unfinished.
 */

import { isMap, isPair, isScalar, isSeq, visit, type Document, type Scalar } from 'yaml';
import { parseYaml } from '../../shared/text/yaml.ts';
import { findConfigKey, type ConfigKey } from './keys.ts';

export type KeyPath = readonly (string | number)[];

interface Word {
  /** Offset of the start of the word at the cursor. `end` is that of its end. */
  readonly start: number;
  readonly end: number;
}

export interface KeyPlace extends Word {
  readonly kind: 'key';
  /** The path of the section. */
  readonly path: KeyPath;
  /** Keys that the section has already, except the word at the cursor. */
  readonly present: readonly string[];
  /** True if the section is written in braces. */
  readonly flow: boolean;
  /** True if a colon follows the key already. */
  readonly colon: boolean;
}

export interface ValuePlace extends Word {
  readonly kind: 'value';
  /** The path of the key, followed by the index if the value is in a list. */
  readonly path: KeyPath;
  /** True if a space is missing between the colon and the value. */
  readonly space: boolean;
}

export type Place = KeyPlace | ValuePlace;

/** A word that no configuration holds. At the cursor, it shows how the parser reads that place. */
const MARK = 'c3cursor7f3a';
const WORD = /[^\s"'{}[\],:#]*/u;

/**
 * Finds the place of the cursor, or returns null if it is at no key or value, as in a comment.
 * @param keys the keys that the text may have
 */
export function findPlace(text: string, offset: number, keys: ConfigKey): Place | null {
  const start = offset - (new RegExp(`${WORD.source}$`, 'u').exec(text.slice(0, offset))?.[0].length ?? 0);
  const end = offset + (WORD.exec(text.slice(offset))?.[0].length ?? 0);
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const colon = /^[ \t]*:/u.test(text.slice(end));
  const space = before.endsWith(':');
  const asked = (marker: string): Place | null => {
    const found = findMarkedPlace(parseYaml(text.slice(0, start) + marker + text.slice(end)));
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
  // The first word of a line may be a key without a colon, or a value on a line of its own.
  const key = asked(colon ? MARK : `${MARK}: `);
  return key?.kind === 'key' && findConfigKey(key.path, keys)?.kind === 'section' ? key : asked(MARK);
}

type Found =
  | { readonly kind: 'key'; readonly path: KeyPath; readonly present: readonly string[]; readonly flow: boolean }
  | { readonly kind: 'value'; readonly path: KeyPath };

function findMarkedPlace(document: Document): Found | null {
  const at: { found: Found | null } = { found: null };
  visitScalars(document, ({ value }, path, role, holder) => {
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
    // A value that continues beyond the word at the cursor is free text: there is nothing to suggest.
    return true;
  });
  return at.found;
}

/**
 * Visits the scalars of a document, including keys, until `take` returns true.
 * @param take receives the scalar, its path (without a key's own name), its role, and the map or list
 *   around it
 */
export function visitScalars(
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
