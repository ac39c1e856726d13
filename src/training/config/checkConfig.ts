/** Checks a configuration for an editor: reports all faults at once, with the ranges to mark. */

import { isScalar, type Document, type Node } from 'yaml';
import { toErrorMessage } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { parseYaml } from '../../shared/text/yaml.ts';
import { formatPath } from '../../team/document.ts';
import { Locator } from '../../team/located.ts';
import { configSchema } from './config.ts';
import { examineConfig, type Fault } from './configFaults.ts';
import { convertPublished, NOTHING_THERE } from './published/convertPublished.ts';
import { isPublished } from './published/publishedForm.ts';

export interface Range {
  /** Offsets in UTF-16 code units; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

export interface ConfigFault extends Range {
  readonly message: string;
  /** The text to put in the range, or null if unknown. */
  readonly replacement: string | null;
  /** The severity of a fault that does not stop a run. Absent if the run cannot start. */
  readonly severity?: 'warning' | 'information';
}

/**
 * Longer texts are not checked while they are written. Configurations have less than a tenth of this,
 * and an editor asks at every keystroke.
 */
const MAX_CHARACTERS = 1 << 16;
/** The largest number of faults reported for one file. */
const MOST = 200;
/** Characters kept of the parser's message, which may quote the file. */
const MAX_REASON = 300;

/**
 * Returns the faults of a configuration's text, in the order of the text. The fault that `readConfig`
 * reports first is among them.
 * @param text YAML or JSON
 */
export function checkConfig(text: string): readonly ConfigFault[] {
  if (text.length > MAX_CHARACTERS) {
    return [
      {
        start: 0,
        end: findLineEnd(text, 0),
        message: `The file has ${text.length} characters; at most ${MAX_CHARACTERS} are checked here.`,
        replacement: null,
      },
    ];
  }
  const document = parseYaml(text);
  const found = [...document.errors, ...document.warnings].map(({ code, pos: [start, end], message }) =>
    code === 'DUPLICATE_KEY'
      ? {
          ...toVisibleRange(text, start, start + (/^[\w.-]+/u.exec(text.slice(start))?.[0].length ?? 1)),
          message: 'This key has been given before; keep one of the two.',
          replacement: null,
        }
      : { ...toVisibleRange(text, start, end), message: describeParserMessage(message), replacement: null },
  );
  // If the text cannot be parsed, its values are guesswork. A duplicate key does not prevent parsing.
  const sound = document.errors.every(({ code }) => code === 'DUPLICATE_KEY');
  return [...found, ...(sound ? listDocumentFaults(document, text) : [])]
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .slice(0, MOST);
}

/** Returns the characters of a node without the text after it, or null if it has none. */
export function findNodeRange(node: Node | null): Range | null {
  const [start, end] = node?.range ?? [0, 0];
  return end > start ? { start, end } : null;
}

function listDocumentFaults(document: Document, text: string): ConfigFault[] {
  const places = new Locator(document);
  let value: unknown;
  try {
    value = document.toJS() ?? {};
  } catch (error) {
    return [
      { ...toVisibleRange(text, 0, 0), message: describeParserMessage(toErrorMessage(error)), replacement: null },
    ];
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [
      {
        ...toVisibleRange(text, findNodeRange(places.find([]).value)?.start ?? 0, 0),
        message: 'A configuration must be a mapping of keys to values.',
        replacement: null,
      },
    ];
  }
  // Finding a place takes a walk through the file, so only the faults that are shown are looked up.
  const shown = (fault: Fault): ConfigFault => ({
    ...findFaultRange(fault, places, text),
    message: `${formatPath(fault.path)}: ${fault.sentence}`,
  });
  if (!isPublished(value)) {
    return examineConfig(configSchema, value).faults.slice(0, MOST).map(shown);
  }
  const { value: own, faults, notes, from } = convertPublished(value, NOTHING_THERE);
  const found = faults.length > 0 ? faults : examineConfig(configSchema, own).faults;
  return [
    ...found.slice(0, MOST).map((fault) => shown({ ...fault, path: from.get(fault.path.join('.')) ?? fault.path })),
    ...notes.map(({ path, sentence, warns }): ConfigFault => ({
      ...shown({ path, sentence, of: 'key', nearest: null }),
      severity: warns ? 'warning' : 'information',
    })),
  ];
}

/**
 * Returns the range to mark: the key if it is unknown; otherwise the value, or its key if the value is
 * empty or spans several lines.
 */
function findFaultRange(
  { path, of, nearest }: Fault,
  places: Locator,
  text: string,
): Range & { readonly replacement: string | null } {
  const { key, value } = places.find(path);
  const [keyRange, valueRange] = [findNodeRange(key), findNodeRange(value)];
  if (of === 'key' && keyRange !== null) {
    return { ...keyRange, replacement: nearest };
  }
  const oneLine = valueRange !== null && !text.slice(valueRange.start, valueRange.end).includes('\n');
  if (oneLine) {
    return { ...valueRange, replacement: isScalar(value) ? nearest : null };
  }
  return { ...(keyRange ?? toVisibleRange(text, valueRange?.start ?? 0, 0)), replacement: null };
}

/** Returns a range with text: the given one, the rest of its line, or the last character before it. */
function toVisibleRange(text: string, start: number, end: number): Range {
  if (text.slice(start, end).trim() !== '') {
    return { start, end: Math.min(end, findLineEnd(text, start)) };
  }
  const line = findLineEnd(text, start);
  if (text.slice(start, line).trim() !== '') {
    return { start, end: line };
  }
  const before = text.slice(0, start).trimEnd().length;
  return { start: Math.max(0, before - 1), end: before };
}

function findLineEnd(text: string, from: number): number {
  const end = text.slice(from).search(/\r?\n/u);
  return end < 0 ? text.length : from + end;
}

/** Turns a parser message into a fault sentence; the range already gives the place. */
function describeParserMessage(message: string): string {
  const line = toOneLine(message, MAX_REASON).replace(/[:.]$/u, '');
  return `Neither JSON nor YAML: ${line}.`;
}
