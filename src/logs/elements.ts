/**
 * Where the entries of a log are in its bytes: spans in the lists of OTLP, samples, runs, items of a list, or whole
 * documents, one after another. Only their places are kept, so a file may be far longer than memory. What is between
 * them is passed over; whoever reads an entry parses it.
 */
import { C3Error } from '../shared/errors.ts';
import type { LogSource } from './source.ts';

/** Bytes from `start` to before `end`. */
export interface LogElement {
  readonly start: number;
  readonly end: number;
  /** In which line it begins, from 1; 0 where that is no longer known. */
  readonly line: number;
  /** Which document of the file it is of, from 0. */
  readonly document: number;
  /** Whether it is an item of a list that is the document itself. */
  readonly item: boolean;
  /** Longer or more deeply nested than is read. */
  readonly excessive: boolean;
}

/** Bounds of one entry. */
export const ELEMENT_LIMITS = { bytes: 2 ** 26, depth: 256 } as const;
const CHUNK = 2 ** 20;
const LONGEST_KEY = 64;

/** What lies in an object: lists by their keys, of entries or of objects again. */
type Lists = ReadonlyMap<string, Lists | 'entries'>;

const SPANS: Lists = new Map([['spans', 'entries' as const]]);
const SCOPES: Lists = new Map([
  ['scopeSpans', SPANS],
  ['instrumentationLibrarySpans', SPANS],
]);
/** OTLP; Inspect's logs; pages of the interfaces of Langfuse and LangSmith. */
const DOCUMENT: Lists = new Map<string, Lists | 'entries'>([
  ['resourceSpans', SCOPES],
  ['samples', 'entries'],
  ['data', 'entries'],
  ['runs', 'entries'],
]);

interface Frame {
  readonly isObject: boolean;
  /** Of an object its lists; of a list what its items hold; 'items' of a list that is a document. */
  readonly holds: Lists | 'entries' | 'items';
  readonly start: number;
  readonly line: number;
  /** Whether it is an entry as a whole, unless it holds lists of them. */
  candidate: boolean;
  key: string;
  expectsKey: boolean;
}

const [QUOTE, BACKSLASH, NEWLINE, HASH, COMMA] = [0x22, 0x5c, 0x0a, 0x23, 0x2c] as const;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d] as const;
const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d, COMMA]);

/** Finds the entries of a log. */
export class ElementScanner {
  /** The keys under which lists of entries were found. */
  readonly lists = new Set<string>();
  documents = 0;
  private readonly source: LogSource;
  private readonly frames: Frame[] = [];
  /** How deep the value is that is passed over; 0 outside of one. */
  private depth = 0;
  private deepest = 0;
  /** Where the entry began that is passed over; -1 for a value that is none. */
  private taken = -1;
  private takenLine = 0;
  private line = 1;

  private readonly piece: number;

  /** @param piece bytes that are looked at together */
  constructor(source: LogSource, piece = CHUNK) {
    this.source = source;
    this.piece = piece;
  }

  /**
   * The entries in order, those of each piece of the file together, so that whoever reads can do other work between.
   * @throws C3Error('input') where the file is cut, or holds something else than objects and lists
   */
  *pieces(onBytes: (bytes: Buffer) => void = () => undefined): Generator<readonly LogElement[]> {
    const { source } = this;
    let string = -1;
    let isComment = false;
    const chunk = Buffer.alloc(this.piece);
    for (let from = 0; from < source.size; from += this.piece) {
      const bytes = chunk.subarray(0, source.fill(chunk, from));
      onBytes(bytes);
      const found: LogElement[] = [];
      let at = from === 0 && bytes.subarray(0, 3).equals(BOM) ? BOM.length : 0;
      while (at < bytes.length) {
        if (isComment) {
          const end = bytes.indexOf(NEWLINE, at);
          isComment = end === -1;
          at = end === -1 ? bytes.length : end;
          continue;
        }
        if (string !== -1) {
          const end = this.endOfString(bytes, at, from);
          if (end === -1) {
            break;
          }
          this.string(string, from + end);
          string = -1;
          at = end + 1;
          continue;
        }
        const byte = bytes[at] ?? 0;
        if (byte === QUOTE) {
          string = from + at;
        } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
          this.open(byte === OPEN_OBJECT, from + at);
        } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
          this.close(from + at, found);
        } else if (byte === NEWLINE) {
          this.line++;
        } else if (this.frames.length === 0) {
          isComment = byte === HASH;
          if (!isComment && !BLANKS.has(byte)) {
            throw this.error('what begins here is neither an object nor a list');
          }
        } else if (byte === COMMA && this.depth === 0) {
          const frame = this.frames.at(-1);
          if (frame !== undefined) {
            frame.expectsKey = true;
          }
        }
        at++;
      }
      yield found;
    }
    const open = this.frames[0];
    if (open !== undefined || string !== -1) {
      throw this.error('the document that begins here does not end', open?.line);
    }
  }

  /** Where a string ends; -1 where that is in a later piece. A quote after an odd number of backslashes is its text. */
  private endOfString(bytes: Buffer, begin: number, from: number): number {
    for (let end = bytes.indexOf(QUOTE, begin); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
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
    if (frame === undefined) {
      throw this.error('what begins here is neither an object nor a list');
    }
    if (this.depth === 0 && frame.isObject && frame.expectsKey) {
      frame.expectsKey = false;
      frame.key = end - start > LONGEST_KEY ? '' : this.source.read(start + 1, end).toString('latin1');
    }
  }

  private open(isObject: boolean, at: number): void {
    if (this.depth > 0) {
      this.depth++;
      this.deepest = Math.max(this.deepest, this.depth);
      return;
    }
    const frame = this.frames.at(-1);
    const base = { isObject, start: at, line: this.line, key: '', expectsKey: true };
    if (frame === undefined) {
      this.frames.push({ ...base, holds: isObject ? DOCUMENT : 'items', candidate: isObject });
    } else if (frame.isObject) {
      const list = typeof frame.holds === 'string' || isObject ? undefined : frame.holds.get(frame.key);
      if (list === undefined) {
        this.pass(-1);
      } else {
        frame.candidate = false;
        this.lists.add(frame.key);
        this.frames.push({ ...base, holds: list, candidate: false });
      }
    } else if (frame.holds === 'items' && isObject) {
      this.frames.push({ ...base, holds: DOCUMENT, candidate: true });
    } else if (typeof frame.holds === 'string') {
      this.pass(at);
    } else if (isObject) {
      this.frames.push({ ...base, holds: frame.holds, candidate: false });
    } else {
      this.pass(-1);
    }
  }

  /** Passes over a value; `taken` is where it begins if it is an entry. */
  private pass(taken: number): void {
    this.depth = 1;
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
        found.push(this.element(this.taken, at + 1, this.takenLine, this.frames.at(-1)?.holds === 'items'));
        this.taken = -1;
      }
      return;
    }
    const frame = this.frames.pop();
    if (frame === undefined) {
      throw this.error('a bracket closes here that none opened');
    }
    if (frame.candidate) {
      found.push(this.element(frame.start, at + 1, frame.line, this.frames.length > 0));
      this.deepest = 0;
    }
    if (this.frames.length === 0) {
      this.documents++;
    }
  }

  private element(start: number, end: number, line: number, item: boolean): LogElement {
    const excessive = end - start > ELEMENT_LIMITS.bytes || this.deepest > ELEMENT_LIMITS.depth;
    this.deepest = 0;
    return { start, end, line, document: this.documents, item, excessive };
  }

  private error(what: string, line = this.line): C3Error {
    return new C3Error(
      'input',
      `${this.source.name}:${String(line)}: this is no log in JSON (${what}); give one JSON document, or one in each line.`,
    );
  }
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
