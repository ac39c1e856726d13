/**
 * Finds the byte ranges of the entries of a log: spans in the lists of OTLP, samples, runs, items
 * of a list, or whole documents, one after another. Only the ranges are kept, so a file may be far
 * longer than memory. The reader of an entry parses it. A document that breaks off costs only its
 * own line.
 */

import { C3Error } from '../shared/errors.ts';
import { ANSWERED, ASKED, MESSAGES } from './keys.ts';
import type { LogSource } from './source.ts';

/** A range of bytes from `start` to before `end`. */
export interface LogElement {
  readonly start: number;
  readonly end: number;
  /** The line in which it begins, from 1, or 0 if that is no longer known. */
  readonly line: number;
  /** The index of its document in the file, from 0. */
  readonly document: number;
  /** True if it is an item of a list that is the document itself. */
  readonly item: boolean;
  /** The start of the object whose list, such as `runs`, holds it, or null. */
  readonly holder: number | null;
  /** True if it is longer or more deeply nested than the limits allow. */
  readonly excessive: boolean;
}

/** Limits of one entry. */
export const ELEMENT_LIMITS = { bytes: 2 ** 26, depth: 256 } as const;
const CHUNK = 2 ** 20;
const LONGEST_KEY = 64;

/** The lists that lie in an object, by their keys. They hold entries, or objects with lists again. */
type Lists = ReadonlyMap<string, Lists | 'entries'>;

const SPANS: Lists = new Map([['spans', 'entries' as const]]);
const RECORDS: Lists = new Map([
  ['logRecords', 'entries' as const],
  ['log_records', 'entries' as const],
]);
const SCOPES: Lists = new Map([
  ['scopeSpans', SPANS],
  ['scope_spans', SPANS],
  ['instrumentationLibrarySpans', SPANS],
  ['instrumentation_library_spans', SPANS],
]);
const LOG_SCOPES: Lists = new Map([
  ['scopeLogs', RECORDS],
  ['scope_logs', RECORDS],
]);
/** Lists of OTLP, of Inspect's logs, and of pages and results of APIs, by their usual keys. */
const DOCUMENT: Lists = new Map<string, Lists | 'entries'>([
  ['resourceSpans', SCOPES],
  ['resource_spans', SCOPES],
  ['batches', SCOPES],
  ['resourceLogs', LOG_SCOPES],
  ['resource_logs', LOG_SCOPES],
  ...[
    'samples',
    'data',
    'runs',
    'spans',
    'traces',
    'calls',
    'items',
    'rows',
    'results',
    'records',
    'simulations',
    'trajectories',
    'episodes',
    'sessions',
    'threads',
    'entries',
    'agents',
  ].map((key) => [key, 'entries'] as const),
]);
/** Keys of inner objects that may hold the lists, of Tempo, MLflow and HTTP archives. */
const WITHIN: ReadonlySet<string> = new Set(['trace', 'data', 'result', 'log']);
/** Keys that make an object an entry of its own, even if it also holds lists of entries. */
const OWN: ReadonlySet<string> = new Set<string>([
  ...MESSAGES,
  ...ASKED,
  ...ANSWERED,
  'role',
  'columns',
  'request',
  'choices',
  'observations',
  'child_runs',
  'run_type',
  'span_data',
]);

interface Frame {
  readonly isObject: boolean;
  /** The lists of an object, the content of a list's items, or 'items' for a document's list. */
  readonly holds: Lists | 'entries' | 'items';
  readonly start: number;
  readonly line: number;
  /** True if it may be an entry as a whole. */
  readonly candidate: boolean;
  /** True if it holds lists of entries. It is then an entry only if it has a key of `OWN`. */
  hasLists: boolean;
  /** True if a list has strings among its items. It is then not a list of entries. */
  hasTexts: boolean;
  isOwn: boolean;
  key: string;
  expectsKey: boolean;
}

/** A syntax error at an offset of the file. */
interface Fault {
  readonly why: string;
  readonly at: number;
}

/** A document that could not be read, with the line in which it begins. */
export interface Broken {
  readonly line: number;
  readonly error: C3Error;
}
/** The most broken documents that are named by their lines. */
const MOST_NAMED = 5;

const [QUOTE, APOSTROPHE, BACKSLASH, NEWLINE, HASH, COMMA, COLON] = [0x22, 0x27, 0x5c, 0x0a, 0x23, 0x2c, 0x3a] as const;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d] as const;
/**
 * Bytes that are skipped between documents. They include the byte order mark, because each of
 * several concatenated files has its own.
 */
const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d, COMMA, 0xef, 0xbb, 0xbf]);
/** The most times that a file with many unfinished documents is read. */
const MOST_READINGS = 4;

export class ElementScanner {
  /** The keys under which lists of entries were found. */
  readonly lists = new Set<string>();
  documents = 0;
  /** The first documents that break off or are not JSON. */
  readonly broken: Broken[] = [];
  brokenCount = 0;
  private readonly source: LogSource;
  private frames: Frame[] = [];
  /** The depth of the value that is skipped, or 0 outside of one. */
  private depth = 0;
  private deepest = 0;
  /** For each level of the skipped value, from the outside: true if it is an object. */
  private kinds: boolean[] = [];
  /** The start of the entry that is skipped, or -1 if the value is not an entry. */
  private taken = -1;
  private takenLine = 0;
  private line = 1;
  /** The previous byte, ignoring blanks and the content of strings. */
  private last = 0;
  private isComment = false;
  /** The start of the open string, or -1 outside of one. */
  private begun = -1;
  /** The quote that ends the string. Python writes strings in apostrophes too. */
  private quote: typeof QUOTE | typeof APOSTROPHE = QUOTE;
  /** The end of the last entry, so that none is found twice after a broken document. */
  private foundUntil = 0;
  private readonly piece: number;

  /** @param piece bytes that are read at a time */
  constructor(source: LogSource, piece = CHUNK) {
    this.source = source;
    this.piece = piece;
  }

  /**
   * Yields the entries in order, those of each piece of the file together, so that the caller can
   * do other work between pieces.
   * @param onBytes receives every byte once, in order
   * @throws C3Error('input') if the file cannot be read
   */
  *pieces(onBytes: (bytes: Buffer) => void = () => undefined): Generator<readonly LogElement[]> {
    const { source } = this;
    const chunk = Buffer.alloc(this.piece);
    let heard = 0;
    let budget = source.size * MOST_READINGS + CHUNK;
    for (let from = 0; from < source.size && budget >= 0;) {
      const bytes = chunk.subarray(0, source.fill(chunk, from));
      if (from + bytes.length > heard) {
        onBytes(bytes.subarray(Math.max(0, heard - from)));
        heard = from + bytes.length;
      }
      const found: LogElement[] = [];
      let next = from;
      while (next >= from && next < from + bytes.length && budget >= 0) {
        const begin = next;
        const fault = this.scan(bytes, from, next - from, found);
        next = fault === null ? from + bytes.length : this.recover(fault);
        budget -= (fault?.at ?? next) - begin;
      }
      yield found;
      from = next;
      if (from >= source.size && this.frames.length > 0) {
        from = this.recover({ why: 'the document that begins here does not end', at: source.size });
      }
    }
    if (budget < 0) {
      this.note('too much of the file is broken, and the rest of it was not read', this.line);
    }
    // A file that was given up needs a hash of all its bytes too.
    while (heard < source.size) {
      const bytes = chunk.subarray(0, source.fill(chunk, heard));
      onBytes(bytes);
      heard += bytes.length;
    }
  }

  /**
   * Scans a piece.
   * @param from offset of the piece in the file
   * @param begin offset in the piece at which to begin
   * @returns the fault of the current document, or null
   */
  private scan(bytes: Buffer, from: number, begin: number, found: LogElement[]): Fault | null {
    let at = from + begin === 0 && bytes.subarray(0, 3).equals(BOM) ? BOM.length : begin;
    let newline = bytes.indexOf(NEWLINE, at);
    while (at < bytes.length) {
      if (this.isComment) {
        const end = bytes.indexOf(NEWLINE, at);
        this.isComment = end === -1;
        at = end === -1 ? bytes.length : end;
        continue;
      }
      if (newline !== -1 && newline < at) {
        newline = bytes.indexOf(NEWLINE, at);
      }
      if (this.begun !== -1) {
        const end = this.endOfString(bytes, at, from);
        if (newline !== -1 && (end === -1 || newline < end)) {
          return { why: 'a string continues past the end of its line', at: from + newline };
        }
        if (end === -1) {
          break;
        }
        this.string(this.begun, from + end);
        this.begun = -1;
        this.last = QUOTE;
        at = end + 1;
        continue;
      }
      const why = this.byte(bytes[at] ?? 0, from + at, found);
      if (why !== null) {
        return { why, at: from + at };
      }
      at++;
    }
    return null;
  }

  /** Processes a byte outside of strings. Returns the reason if it is not valid, or null. */
  private byte(byte: number, at: number, found: LogElement[]): string | null {
    if (byte === NEWLINE) {
      this.line++;
      return null;
    }
    if (this.frames.length === 0 && byte !== OPEN_OBJECT && byte !== OPEN_LIST) {
      this.isComment = byte === HASH;
      return this.isComment || BLANKS.has(byte) ? null : 'the value that begins here is neither an object nor a list';
    }
    if (byte === QUOTE || byte === APOSTROPHE) {
      this.begun = at;
      this.quote = byte;
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (!this.mayOpen()) {
        return 'the document that begins here breaks off';
      }
      this.open(byte === OPEN_OBJECT, at);
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if ((this.isInObject() ?? byte === CLOSE_OBJECT) !== (byte === CLOSE_OBJECT)) {
        return 'a bracket of the document that begins here is closed by one of the other kind';
      }
      this.close(at, found);
    } else if (byte === COMMA && this.depth === 0) {
      const frame = this.frames.at(-1);
      if (frame !== undefined) {
        frame.expectsKey = true;
      }
    }
    if (byte > SPACE) {
      this.last = byte;
    }
    return null;
  }

  /** Returns true if the innermost open value is an object, or undefined if it is too deep. */
  private isInObject(): boolean | undefined {
    return this.depth > 0 ? this.kinds[this.depth - 1] : this.frames.at(-1)?.isObject;
  }

  /** Returns true if an object or a list may begin after the previous byte. */
  private mayOpen(): boolean {
    const isIn = this.isInObject();
    return isIn === undefined || (isIn ? this.last === COLON : this.last === COMMA || this.last === OPEN_LIST);
  }

  /** Counts the current document as broken. Returns the start of the line after its first one. */
  private recover({ why, at: place }: Fault): number {
    const { start, line } = this.frames[0] ?? { start: place, line: this.line };
    this.note(why, line);
    [this.frames, this.kinds] = [[], []];
    [this.depth, this.deepest, this.taken, this.begun, this.last] = [0, 0, -1, -1, 0];
    this.documents++;
    this.line = line + 1;
    for (let at = start; at < this.source.size; at += SEARCHED) {
      const end = this.source.read(at, Math.min(this.source.size, at + SEARCHED)).indexOf(NEWLINE);
      if (end !== -1) {
        return at + end + 1;
      }
    }
    return this.source.size;
  }

  private note(why: string, line: number): void {
    this.brokenCount++;
    if (this.broken.length < MOST_NAMED) {
      this.broken.push({ line, error: this.error(why, line) });
    }
  }

  /**
   * Returns the end of a string, or -1 if it lies in a later piece. A quote after an odd number of
   * backslashes is part of the text.
   */
  private endOfString(bytes: Buffer, begin: number, from: number): number {
    for (let end = bytes.indexOf(this.quote, begin); end !== -1; end = bytes.indexOf(this.quote, end + 1)) {
      let before = end - 1;
      while (before >= 0 && bytes[before] === BACKSLASH) {
        before--;
      }
      let backslashes = end - 1 - before;
      if (before < 0 && from > 0) {
        backslashes += this.backslashesBefore(from);
      }
      if (backslashes % 2 === 0) {
        return end;
      }
    }
    return -1;
  }

  private backslashesBefore(from: number): number {
    let count = 0;
    for (let start = from; start > 0;) {
      const piece = this.source.read(Math.max(0, start - LONGEST_KEY), start);
      const last = piece.findLastIndex((byte) => byte !== BACKSLASH);
      count += piece.length - 1 - last;
      if (last !== -1) {
        return count;
      }
      start -= piece.length;
    }
    return count;
  }

  private string(start: number, end: number): void {
    const frame = this.frames.at(-1);
    if (this.depth > 0 || frame === undefined) {
      return;
    }
    if (!frame.isObject) {
      frame.hasTexts = true;
    } else if (frame.expectsKey) {
      frame.expectsKey = false;
      frame.key = end - start > LONGEST_KEY ? '' : this.source.read(start + 1, end).toString('latin1');
    } else {
      frame.isOwn ||= OWN.has(frame.key);
    }
  }

  private open(isObject: boolean, at: number): void {
    if (this.depth > 0) {
      this.depth++;
      this.deepest = Math.max(this.deepest, this.depth);
      if (this.depth <= ELEMENT_LIMITS.depth) {
        this.kinds[this.depth - 1] = isObject;
      } else {
        this.kinds.length = ELEMENT_LIMITS.depth;
      }
      return;
    }
    const frame = this.frames.at(-1);
    const base = {
      isObject,
      start: at,
      line: this.line,
      key: '',
      expectsKey: true,
      hasLists: false,
      hasTexts: false,
      isOwn: false,
    };
    if (frame === undefined) {
      this.frames.push({ ...base, holds: isObject ? DOCUMENT : 'items', candidate: isObject });
    } else if (frame.isObject) {
      this.openIn(frame, isObject, { ...base, candidate: false }, at);
    } else if (frame.holds === 'items' && isObject) {
      this.frames.push({ ...base, holds: DOCUMENT, candidate: true });
    } else if (typeof frame.holds === 'string') {
      // Each item of a list of lists is an entry.
      this.pass(at, isObject);
    } else if (isObject) {
      this.frames.push({ ...base, holds: frame.holds, candidate: false });
    } else {
      this.pass(-1, isObject);
    }
  }

  /** Opens a value in an object: a list of entries, an object with such lists, or another value. */
  private openIn(frame: Frame, isObject: boolean, base: Omit<Frame, 'holds'>, at: number): void {
    const { holds, key } = frame;
    frame.isOwn ||= OWN.has(key);
    const list = typeof holds === 'string' ? undefined : holds.get(key);
    // Datadog has its spans in `{data: {attributes}}`. Elsewhere `attributes` is content of an
    // entry.
    const isWithin = WITHIN.has(key) || (key === 'attributes' && !frame.candidate);
    if (isObject && holds === DOCUMENT && isWithin) {
      this.frames.push({ ...base, holds: DOCUMENT });
    } else if (list === undefined || isObject) {
      this.pass(-1, isObject);
    } else {
      this.lists.add(key);
      this.frames.push({ ...base, start: at, holds: list });
    }
  }

  /** Skips a value. `taken` is its start if it is an entry, or else -1. */
  private pass(taken: number, isObject: boolean): void {
    this.depth = 1;
    this.kinds = [isObject];
    if (taken !== -1) {
      this.deepest = 1;
      this.taken = taken;
      this.takenLine = this.line;
    }
  }

  private close(at: number, found: LogElement[]): void {
    if (this.depth > 0) {
      this.depth--;
      if (this.depth === 0 && this.taken !== -1) {
        this.add(this.taken, at + 1, this.takenLine, found);
        this.markHolders();
        this.taken = -1;
      }
      return;
    }
    const frame = this.frames.pop();
    if (frame?.isObject === false && !frame.hasTexts) {
      this.markHolders();
    }
    if (frame?.candidate === true && (!frame.hasLists || frame.isOwn)) {
      this.add(frame.start, at + 1, frame.line, found);
    }
    if (this.frames.length === 0) {
      this.documents++;
    }
  }

  /** Marks the open objects as holders of a list of entries. */
  private markHolders(): void {
    for (const one of this.frames) {
      one.hasLists = true;
    }
  }

  private add(start: number, end: number, line: number, found: LogElement[]): void {
    const excessive = end - start > ELEMENT_LIMITS.bytes || this.deepest > ELEMENT_LIMITS.depth;
    this.deepest = 0;
    if (end <= this.foundUntil) {
      return;
    }
    this.foundUntil = end;
    const item = this.frames.at(-1)?.holds === 'items';
    const holder = this.frames.findLast(({ candidate }) => candidate)?.start ?? null;
    found.push({ start, end, line, document: this.documents, item, holder, excessive });
  }

  private error(what: string, line: number): C3Error {
    return new C3Error(
      'input',
      `${this.source.name}:${line}: this is not a JSON log (${what}); give one JSON document, or one in each line.`,
    );
  }
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const SPACE = 0x20;
/** Bytes that are searched for the end of a line at a time. */
const SEARCHED = 2 ** 16;
