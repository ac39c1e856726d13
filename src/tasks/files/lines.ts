/** Lines of a user's text file or input, streamed and bounded, so that none can exhaust memory. */

import { openRegular } from '../../files/regularFile.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';

/** Most bytes of a line, without the line feed. */
export const MAX_LINE_BYTES = 2 ** 20;
export const MAX_LINES = 1_000_000;
/** Most bytes of a whole file. */
export const MAX_FILE_BYTES = 2 ** 29;

const LINE_FEED = 0x0a;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\ufeff';

export interface Line {
  /** 1-based. */
  readonly number: number;
  /** Without the line feed; the CR of a CRLF stays. */
  readonly text: string;
}

/**
 * Yields the lines of a UTF-8 file, in batches as they are read.
 * @throws C3Error('input') if the file cannot be read, is not UTF-8, or exceeds MAX_LINE_BYTES,
 *   MAX_LINES or MAX_FILE_BYTES
 */
export async function* readLines(path: string): AsyncGenerator<Iterable<Line>, void, undefined> {
  const splitter = new LineSplitter({ ...FILE_BOUNDS, placeOf: (line) => `${path}:${line}` });
  const { file } = await openRegular(path, 'give the path of a readable JSONL or CSV file');
  const stream = file.createReadStream();
  const chunks: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((error: unknown) => {
        throw new C3Error(
          'input',
          `Cannot read ${path}: ${toErrorMessage(error)}; give the path of a readable JSONL or CSV file.`,
          { cause: error },
        );
      });
      if (next.done === true) {
        yield splitter.end();
        return;
      }
      if (Buffer.isBuffer(next.value)) {
        yield splitter.push(next.value);
      }
    }
  } finally {
    stream.destroy();
  }
}

/** Limits of lines, and the format of their places in messages. */
export interface LineBounds {
  /** Most bytes of a line; `lines` limits their number, and `bytes` their total size. */
  readonly line: number;
  readonly lines: number;
  readonly bytes: number;
  /**
   * The lines from which a byte order mark is removed: every line, as in files that were concatenated,
   * or only the first.
   */
  readonly marks: 'every' | 'first';
  /** Advice for a line that is too long. */
  readonly advice: string;
  readonly placeOf: (line: number) => string;
}

const FILE_BOUNDS = {
  line: MAX_LINE_BYTES,
  lines: MAX_LINES,
  bytes: MAX_FILE_BYTES,
  marks: 'every',
  advice: 'write one problem on each line',
} as const;

/**
 * Splits chunks of bytes into lines and holds the unfinished one. Each batch must be read to its end
 * before the next.
 */
export class LineSplitter {
  private readonly bounds: LineBounds;
  private parts: Buffer[] = [];
  private held = 0;
  private number = 0;
  private bytes = 0;

  constructor(bounds: LineBounds) {
    this.bounds = bounds;
  }

  *push(chunk: Buffer): Generator<Line, void, undefined> {
    this.bytes += chunk.length;
    if (this.bytes > this.bounds.bytes) {
      this.refuse(this.number + 1, `the file is larger than ${this.bounds.bytes} bytes; split it into smaller files.`);
    }
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      this.hold(chunk.subarray(from, end));
      yield this.take();
      from = end + 1;
    }
    this.hold(chunk.subarray(from));
  }

  *end(): Generator<Line, void, undefined> {
    if (this.held > 0) {
      yield this.take();
    }
  }

  private hold(part: Buffer): void {
    this.held += part.length;
    if (this.held > this.bounds.line) {
      this.refuse(this.number + 1, `the line is longer than ${this.bounds.line} bytes; ${this.bounds.advice}.`);
    }
    this.parts.push(part);
  }

  private take(): Line {
    const bytes = Buffer.concat(this.parts);
    this.parts = [];
    this.held = 0;
    this.number++;
    if (this.number > this.bounds.lines) {
      this.refuse(this.number, `the file has more than ${this.bounds.lines} lines; split it into smaller files.`);
    }
    return { number: this.number, text: this.decode(bytes) };
  }

  private decode(bytes: Buffer): string {
    try {
      const text = UTF8.decode(bytes);
      const marked = text.startsWith(BYTE_ORDER_MARK) && (this.number === 1 || this.bounds.marks === 'every');
      return marked ? text.slice(1) : text;
    } catch (error) {
      return this.refuse(this.number, 'the line is not UTF-8; save the text as UTF-8.', error);
    }
  }

  private refuse(line: number, reason: string, cause?: unknown): never {
    throw new C3Error('input', `${this.bounds.placeOf(line)}: ${reason}`, cause === undefined ? undefined : { cause });
  }
}
