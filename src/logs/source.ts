/** Reads parts of a log's bytes, never the whole log. */

import { ESCAPED_SURROGATE, parseIfJson } from '../chat/fields.ts';
import { parsePythonLiteral } from '../chat/pythonLiteral.ts';
import { C3Error, toErrorMessage } from '../shared/errors.ts';
import { maskText, maskValue } from './secrets.ts';

export interface LogSource {
  /** The name in error messages. */
  readonly name: string;
  /** The size in bytes. */
  readonly size: number;
  /**
   * Returns the bytes from `start` to before `end`, valid until the next call.
   * @throws C3Error('input') if they cannot be read
   */
  readonly read: (start: number, end: number) => Buffer;
  /** Fills a buffer with the bytes from `start`, up to the end. Returns the number of bytes. */
  readonly fill: (buffer: Buffer, start: number) => number;
}

/** The place of an entry in the bytes of its log. */
export interface EntryPlace {
  readonly start: number;
  readonly end: number;
  /** The line, from 1, or 0 if it is not known. */
  readonly line: number;
}

/** An entry as it was read. */
export interface ReadEntry {
  readonly value: unknown;
  /** The number of masked texts that look like keys. */
  readonly masked: number;
  /** The kinds of faults in its JSON or Unicode that were repaired. */
  readonly repaired: readonly Repair[];
}
export type Repair = 'nan' | 'bytes' | 'surrogates';

/** Reads entries of a log, and masks texts that look like keys if told to. */
export class LogReader {
  readonly source: LogSource;
  private readonly maskSecrets: boolean;
  private readonly strict = new TextDecoder('utf-8', { fatal: true });
  private readonly lenient = new TextDecoder('utf-8');

  constructor(source: LogSource, maskSecrets: boolean) {
    this.source = source;
    this.maskSecrets = maskSecrets;
  }

  /**
   * Reads an entry, in JSON or as a literal of Python. Invalid UTF-8 and unpaired surrogates are
   * read as U+FFFD, and the numbers NaN and Infinity, which only Python writes, as null.
   * @returns an error that names the line if the entry is not JSON
   * @throws C3Error('input') if the file cannot be read
   */
  value({ start, end, line }: EntryPlace): ReadEntry | C3Error {
    const repaired: Repair[] = [];
    const bytes = this.source.read(start, end);
    let decoded: string;
    try {
      decoded = this.strict.decode(bytes);
    } catch {
      decoded = this.lenient.decode(bytes);
      repaired.push('bytes');
    }
    const entryOf = (json: string, also: readonly Repair[] = []): ReadEntry => {
      const { value, count } = this.maskSecrets ? maskValue(parse(json)) : { value: parse(json), count: 0 };
      return { value, masked: count, repaired: [...repaired, ...also] };
    };
    const parse = (json: string): unknown => {
      if (!ESCAPED_SURROGATE.test(json)) {
        return JSON.parse(json) as unknown;
      }
      return JSON.parse(json, (_, one: unknown) => {
        if (typeof one !== 'string' || (one.isWellFormed() && !holdsHalf(one))) {
          return one;
        }
        if (!repaired.includes('surrogates')) {
          repaired.push('surrogates');
        }
        return one.toWellFormed();
      });
    };
    try {
      return entryOf(decoded);
    } catch (error) {
      const also = new Set<Repair>();
      const literal = parsePythonLiteral(decoded, () => also.add('nan'));
      if (literal !== undefined) {
        const { value, count } = this.maskSecrets ? maskValue(literal) : { value: literal, count: 0 };
        return { value, masked: count, repaired: [...repaired, ...also] };
      }
      const numbers = withoutNaN(decoded);
      if (numbers !== decoded) {
        try {
          return entryOf(numbers, ['nan']);
        } catch {
          // Something else is wrong too. The first error describes it.
        }
      }
      const place = `${this.source.name}${line === 0 ? '' : `:${line}`}`;
      const why = maskText(toErrorMessage(error)).text.slice(0, 120);
      const what = repaired.includes('bytes')
        ? 'the text is not UTF-8; save the file as UTF-8.'
        : `this is not JSON (${why}); give one JSON document, or one in each line.`;
      return new C3Error('input', `${place}: ${what}`, { cause: error });
    }
  }
}

/** Returns true if a text is JSON with an unpaired surrogate, which parsing reads as U+FFFD. */
const holdsHalf = (text: string): boolean =>
  ESCAPED_SURROGATE.test(text) && /^\s*[[{]/u.test(text) && JSON.stringify(parseIfJson(text)).includes('\u{fffd}');

/** Replaces NaN and infinities outside of strings by null. */
function withoutNaN(text: string): string {
  const found = /"|-?(?:NaN|Infinity)\b/gu;
  const pieces: string[] = [];
  let from = 0;
  for (let match = found.exec(text); match !== null; match = found.exec(text)) {
    if (match[0] === '"') {
      found.lastIndex = endOfString(text, match.index + 1);
    } else {
      pieces.push(text.slice(from, match.index), 'null');
      from = match.index + match[0].length;
    }
  }
  return pieces.length === 0 ? text : `${pieces.join('')}${text.slice(from)}`;
}

/** Returns the offset after the quote that ends a string. */
function endOfString(text: string, begin: number): number {
  for (let at = begin; at < text.length; at++) {
    const character = text[at];
    if (character === '\\') {
      at++;
    } else if (character === '"') {
      return at + 1;
    }
  }
  return text.length;
}
