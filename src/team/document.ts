/** A JSON or YAML text with the line of each of its keys, so that an error can name both. */
import { LineCounter, parseDocument } from 'yaml';
import { C3Error, messageOf, nearestName } from '../shared/errors.ts';

/** Where a value stands: keys and list indices from the top. */
export type KeyPath = readonly (string | number)[];

export interface SourceDocument {
  readonly value: unknown;
  /** An input error that names the source, the line and the key. */
  readonly error: (path: KeyPath, problem: string) => C3Error;
}

/** A file larger than this is no protocol. */
const MAX_CHARACTERS = 1 << 20;
const MAX_ITEMS = 1000;

/**
 * Reads one JSON or YAML 1.2 document. Custom tags, repeated keys and a second document are errors.
 * @param source what the text was read from, for messages
 * @throws C3Error('input') when the text is too long or cannot be parsed
 */
export function readDocument(text: string, source: string): SourceDocument {
  if (text.length > MAX_CHARACTERS) throw new C3Error('input', `${source}: has ${text.length} characters; at most ${MAX_CHARACTERS} are read.`);
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined) throw problem;
    const value: unknown = document.toJS();
    const error = (path: KeyPath, description: string): C3Error => {
      const line = lineOf(path);
      return new C3Error('input', `${source}${line === null ? '' : `, line ${line}`}: ${path.length === 0 ? '' : `${showPath(path)}: `}${description}`);
    };
    const lineOf = (path: KeyPath): number | null => {
      // A missing key has no line of its own: its holder's is the nearest.
      for (let length = path.length; length > 0; length--) {
        const node: unknown = document.getIn(path.slice(0, length), true);
        const start = startOf(node);
        if (start !== null) return lines.linePos(start).line;
      }
      return null;
    };
    return { value, error };
  } catch (failure) {
    // Only the first line: the parser adds an excerpt of the file below it.
    const reason = (messageOf(failure).split('\n')[0] ?? '').replace(/:$/, '');
    throw new C3Error('input', `${source}: is neither JSON nor YAML: ${reason}.`, { cause: failure });
  }
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
