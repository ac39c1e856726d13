/** The bytes of a log, which are read where they are needed and never as a whole. */
import { HALF, parsedJson } from '../chat/fields.ts';
import { pythonValue } from '../chat/pythonLiteral.ts';
import { C3Error, messageOf } from '../shared/errors.ts';
import { masked, maskedValue } from './secrets.ts';

export interface LogSource {
  /** In errors. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /**
   * The bytes from `start` to before `end`, valid until the next call.
   * @throws C3Error('input') where they cannot be read
   */
  readonly read: (start: number, end: number) => Buffer;
  /** Fills a buffer with the bytes from `start`, as far as there are any. @returns how many those are */
  readonly fill: (buffer: Buffer, start: number) => number;
}

/** Where an entry is in the bytes of its log. */
export interface EntryPlace {
  readonly start: number;
  readonly end: number;
  /** From 1; 0 where it is not known. */
  readonly line: number;
}

/** An entry as it was read. */
export interface ReadEntry {
  readonly value: unknown;
  /** Texts that look like keys and were masked. */
  readonly masked: number;
  /** What of it is no JSON or no Unicode, and was read all the same. */
  readonly repaired: readonly Repair[];
}
export type Repair = 'nan' | 'bytes' | 'surrogates';

/** What is read of a log, and how many texts of it were masked. */
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
   * The value of an entry, in JSON or as a literal of Python. Bytes that are no UTF-8 and halves of characters are read
   * as U+FFFD, and numbers that only Python writes as null.
   * @returns an error naming its line, where it is no JSON
   * @throws C3Error('input') where the file cannot be read
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
      const { value, count } = this.maskSecrets ? maskedValue(parse(json)) : { value: parse(json), count: 0 };
      return { value, masked: count, repaired: [...repaired, ...also] };
    };
    const parse = (json: string): unknown => {
      if (!HALF.test(json)) {
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
      const literal = pythonValue(decoded, () => also.add('nan'));
      if (literal !== undefined) {
        const { value, count } = this.maskSecrets ? maskedValue(literal) : { value: literal, count: 0 };
        return { value, masked: count, repaired: [...repaired, ...also] };
      }
      const numbers = withoutNaN(decoded);
      if (numbers !== decoded) {
        try {
          return entryOf(numbers, ['nan']);
        } catch {
          // Something else is wrong too: the first error says it.
        }
      }
      const place = `${this.source.name}${line === 0 ? '' : `:${line}`}`;
      const why = masked(messageOf(error)).text.slice(0, 120);
      const what = repaired.includes('bytes')
        ? 'the text is not UTF-8; save the file as UTF-8.'
        : `this is not JSON (${why}); give one JSON document, or one in each line.`;
      return new C3Error('input', `${place}: ${what}`, { cause: error });
    }
  }
}

/** Whether a text is JSON itself, with half of a character: it is read as U+FFFD where the text is. */
const holdsHalf = (text: string): boolean =>
  HALF.test(text) && /^\s*[[{]/u.test(text) && JSON.stringify(parsedJson(text)).includes('\u{fffd}');

/** A text with null in the place of NaN and infinities outside of its strings. */
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

/** Behind the quote that ends a string. */
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
