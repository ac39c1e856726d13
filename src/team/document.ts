/** A JSON or YAML text with the line of each key, for error messages. */

import { isAbsolute } from 'node:path';
import { LineCounter, YAMLError } from 'yaml';
import { C3Error, toErrorMessage, findNearestName, type ErrorAction } from '../shared/errors.ts';
import { toOneLine } from '../shared/text/oneLine.ts';
import { MAX_YAML_CHARACTERS, parseYaml, readYamlValue } from '../shared/text/yaml.ts';
import { Locator, type KeyPath } from './located.ts';

export type { KeyPath } from './located.ts';

export interface SourceDocument {
  readonly value: unknown;
  /**
   * Returns an input error that names the source, the line and the key. If the source is a file, the
   * error's action opens that place.
   */
  readonly error: (path: KeyPath, fault: string) => C3Error;
  /** Returns the offset at which a key or list item begins, or that of its holder if it is missing. */
  readonly offsetOf: (path: KeyPath) => number | null;
}

const MAX_ITEMS = 1000;
/** Most characters of the parser's message, which may quote the file. */
const MAX_REASON = 300;

/**
 * Reads one JSON or YAML 1.2 document. Custom tags, repeated keys and a second document are errors.
 * @param source origin of the text, for messages; an absolute path is a file that an error's action
 *   opens
 * @throws C3Error('input') if the text is too long or cannot be parsed
 */
export function readDocument(text: string, source: string): SourceDocument {
  if (text.length > MAX_YAML_CHARACTERS) {
    throw new C3Error('input', `${source}: has ${text.length} characters; at most ${MAX_YAML_CHARACTERS} are read.`);
  }
  const lines = new LineCounter();
  try {
    const document = parseYaml(text, lines);
    const value = readYamlValue(document);
    const error = (path: KeyPath, description: string): C3Error => {
      const offset = offsetOf(path);
      const place = offset === null ? null : lines.linePos(offset);
      const where = place === null ? source : `${source}, line ${place.line}`;
      const what = path.length === 0 ? description : `${formatPath(path)}: ${description}`;
      return new C3Error('input', `${where}: ${what}`, { action: createOpenAction(source, place) });
    };
    const places = new Locator(document);
    const offsetOf = (path: KeyPath): number | null => {
      // A missing key has no line of its own; its holder's is the nearest. A value may begin on a
      // line below its key.
      const { key, value, depth } = places.find(path);
      return depth === 0 ? null : ((key ?? value)?.range?.[0] ?? null);
    };
    return { value, error, offsetOf };
  } catch (failure) {
    const reason = toOneLine(toErrorMessage(failure), MAX_REASON).replace(/[:.]$/, '');
    const place = failure instanceof YAMLError ? lines.linePos(failure.pos[0]) : null;
    const where = place === null ? '' : ` at line ${place.line}, column ${place.col}`;
    throw new C3Error('input', `${source}: is neither JSON nor YAML: ${reason}${where}.`, {
      cause: failure,
      action: createOpenAction(source, place),
    });
  }
}

/**
 * Returns an action that opens a place of the source, by default its beginning; none if the source is
 * not a file.
 */
function createOpenAction(
  source: string,
  place: { readonly line: number; readonly col: number } | null,
): ErrorAction | undefined {
  if (!isAbsolute(source)) {
    return undefined;
  }
  return { kind: 'openPlace', file: source, line: place?.line ?? 1, column: place?.col ?? 1 };
}

/** Formats a path for readers: `task.levels[2]`. */
export function formatPath(path: KeyPath): string {
  const shown = path.map((part, index) => {
    if (typeof part === 'number') {
      return `[${part}]`;
    }
    // A key may contain any character, for example a line break.
    const key = /^[\w-]{1,60}$/.test(part) ? part : JSON.stringify(part.slice(0, 60));
    return index === 0 ? key : `.${key}`;
  });
  return shown.join('');
}

/** Returns the value as a mapping, and checks that all its keys are known. */
export function asMapping(
  value: unknown,
  path: KeyPath,
  keys: readonly string[],
  { error }: SourceDocument,
): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw error(path, `must be a mapping with the keys ${keys.join(', ')}.`);
  }
  const entries = new Map<string, unknown>(Object.entries(value));
  for (const key of entries.keys()) {
    if (!keys.includes(key)) {
      throw error([...path, key], `unknown key; ${suggestName(key, keys)}`);
    }
  }
  return entries;
}

/** Returns the value as a list with at least one item and at most MAX_ITEMS. */
export function asList(value: unknown, path: KeyPath, what: string, { error }: SourceDocument): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw error(path, `must be a list of ${what}.`);
  }
  if (value.length === 0) {
    throw error(path, `the list of ${what} is empty; it needs at least one.`);
  }
  if (value.length > MAX_ITEMS) {
    throw error(path, `the list of ${what} has ${value.length} items; at most ${MAX_ITEMS} are possible.`);
  }
  return value;
}

/** Returns the hint at the end of a message about an unknown name. */
export function suggestName(name: string, candidates: readonly string[]): string {
  const nearest = findNearestName(name, candidates);
  return nearest === undefined ? `valid are ${candidates.join(', ')}.` : `did you mean '${nearest}'?`;
}
