/** A JSON or YAML text with the line of each of its keys, so that an error can name both. */
import { isAbsolute } from 'node:path';
import { isMap, isScalar, LineCounter, parseDocument, visit, YAMLParseError, YAMLWarning, type Document } from 'yaml';
import { C3Error, messageOf, nearestName, type ErrorAction } from '../shared/errors.ts';
import { oneLine } from '../shared/oneLine.ts';

/** Where a value stands: keys and list indices from the top. */
export type KeyPath = readonly (string | number)[];

export interface SourceDocument {
  readonly value: unknown;
  /** An input error that names the source, the line and the key; where the source is a file, its action opens that place. */
  readonly error: (path: KeyPath, problem: string) => C3Error;
  /** Where a key or an item of a list begins, as an offset of the text; that of what holds it where it is not there. */
  readonly offsetOf: (path: KeyPath) => number | null;
}

/** A file larger than this is no protocol. */
const MAX_CHARACTERS = 1 << 18;
const MAX_ITEMS = 1000;
/** Characters of what the parser says; it may quote the file. */
const MAX_REASON = 300;

/**
 * Reads one JSON or YAML 1.2 document. Custom tags, repeated keys and a second document are errors.
 * @param source what the text was read from, for messages; an absolute path is a file that an error's action opens
 * @throws C3Error('input') when the text is too long or cannot be parsed
 */
export function readDocument(text: string, source: string): SourceDocument {
  if (text.length > MAX_CHARACTERS) throw new C3Error('input', `${source}: has ${text.length} characters; at most ${MAX_CHARACTERS} are read.`);
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false });
    const problem = document.errors[0] ?? document.warnings[0] ?? repeatedKey(document, lines);
    if (problem !== null) throw problem;
    const value: unknown = document.toJS();
    const error = (path: KeyPath, description: string): C3Error => {
      const offset = offsetOf(path);
      const place = offset === null ? null : lines.linePos(offset);
      const where = place === null ? source : `${source}, line ${place.line}`;
      const what = path.length === 0 ? description : `${showPath(path)}: ${description}`;
      return new C3Error('input', `${where}: ${what}`, { action: placeIn(source, place) });
    };
    const offsetOf = (path: KeyPath): number | null => {
      // A missing key has no line of its own: its holder's is the nearest.
      for (let length = path.length; length > 0; length--) {
        const start = startOf(nodeAt(document, path.slice(0, length)));
        if (start !== null) return start;
      }
      return null;
    };
    return { value, error, offsetOf };
  } catch (failure) {
    // Only the first line: the parser adds an excerpt of the file below it.
    const reason = oneLine((messageOf(failure).split('\n')[0] ?? '').replace(/:$/, ''), MAX_REASON);
    const place = failure instanceof YAMLParseError || failure instanceof YAMLWarning ? failure.linePos?.[0] : undefined;
    const action = placeIn(source, place ?? null);
    throw new C3Error('input', `${source}: is neither JSON nor YAML: ${reason}.`, { cause: failure, action });
  }
}

/** The first key that its mapping has twice; null where there is none. The parser would compare each key with all others. */
function repeatedKey(document: Document, lines: LineCounter): YAMLParseError | null {
  let found: YAMLParseError | null = null;
  visit(document, {
    Map: (_, { items }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        const value = isScalar(key) ? key.value : key;
        if (known.has(value)) {
          const start = startOf(key) ?? 0;
          const place = lines.linePos(start);
          found = new YAMLParseError([start, start + 1], 'DUPLICATE_KEY', `Map keys must be unique at line ${place.line}, column ${place.col}`);
          found.linePos = [place];
          return visit.BREAK;
        }
        known.add(value);
      }
      return undefined;
    },
  });
  return found;
}

/** Opens a place of the source, its beginning where none is known; nothing where the source is no file. */
function placeIn(source: string, place: { readonly line: number; readonly col: number } | null): ErrorAction | undefined {
  if (!isAbsolute(source)) return undefined;
  return { kind: 'openPlace', file: source, line: place?.line ?? 1, column: place?.col ?? 1 };
}

/** The key at a path, or the item of a list: a value may begin on a line below its key. */
function nodeAt(document: Document, path: KeyPath): unknown {
  const name = path.at(-1);
  const holder: unknown = path.length < 2 ? document.contents : document.getIn(path.slice(0, -1), true);
  const pair = isMap(holder) ? holder.items.find(({ key }) => isScalar(key) && String(key.value) === String(name)) : undefined;
  return pair === undefined ? document.getIn(path, true) : pair.key;
}

function startOf(node: unknown): number | null {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) return null;
  const start: unknown = node.range[0];
  return typeof start === 'number' ? start : null;
}

/** A path as people write it: `task.levels[2]`. */
export function showPath(path: KeyPath): string {
  const shown = path.map((part, index) => {
    if (typeof part === 'number') return `[${part}]`;
    // A key may hold anything, a line break too.
    const key = /^[\w-]{1,60}$/.test(part) ? part : JSON.stringify(part.slice(0, 60));
    return index === 0 ? key : `.${key}`;
  });
  return shown.join('');
}

/** A mapping whose keys are all known. */
export function asMapping(value: unknown, path: KeyPath, keys: readonly string[], { error }: SourceDocument): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw error(path, `must be a mapping with the keys ${keys.join(', ')}.`);
  const entries = new Map<string, unknown>(Object.entries(value));
  for (const key of entries.keys()) {
    if (!keys.includes(key)) throw error([...path, key], `unknown key; ${suggestion(key, keys)}`);
  }
  return entries;
}

/** A list with at least one item and at most MAX_ITEMS. */
export function asList(value: unknown, path: KeyPath, what: string, { error }: SourceDocument): readonly unknown[] {
  if (!Array.isArray(value)) throw error(path, `must be a list of ${what}.`);
  if (value.length === 0) throw error(path, `the list of ${what} is empty; it needs at least one.`);
  if (value.length > MAX_ITEMS) throw error(path, `the list of ${what} has ${value.length} items; at most ${MAX_ITEMS} are possible.`);
  return value;
}

/** The hint that ends a message about a name nobody has. */
export function suggestion(name: string, candidates: readonly string[]): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? `valid are ${candidates.join(', ')}.` : `did you mean '${nearest}'?`;
}
