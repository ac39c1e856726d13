/** Lines of a user's text file, streamed and bounded, so that no file can exhaust memory. */
import { createReadStream } from 'node:fs';
import { C3Error, messageOf } from '../shared/errors.ts';

/** Bytes, without the line feed. */
export const MAX_LINE_BYTES = 2 ** 20;
export const MAX_LINES = 1_000_000;
/** Bytes of a whole file. */
export const MAX_FILE_BYTES = 2 ** 29;

const LINE_FEED = 0x0a;
/** Drops a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

export interface Line {
  /** 1-based. */
  readonly number: number;
  /** Without the line feed; the CR of a CRLF stays. */
  readonly text: string;
}

/**
 * The lines of a UTF-8 file, in batches as they are read.
 * @throws C3Error('input') when the file cannot be read, is not UTF-8, or exceeds MAX_LINE_BYTES, MAX_LINES or MAX_FILE_BYTES
 */
export async function* readLines(path: string): AsyncGenerator<Iterable<Line>, void, undefined> {
  const splitter = new LineSplitter(path);
  const stream = createReadStream(path);
  const chunks: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((error: unknown) => {
        throw new C3Error('input', `Cannot read ${path}: ${messageOf(error)}; give the path of a readable JSONL or CSV file.`, { cause: error });
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

/** Cuts chunks of bytes into lines and holds the unfinished one; each batch must be read to its end before the next. */
class LineSplitter {
  readonly #path: string;
  #parts: Buffer[] = [];
  #held = 0;
  #number = 0;
  #bytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  *push(chunk: Buffer): Generator<Line, void, undefined> {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_FILE_BYTES) {
      this.#refuse(this.#number + 1, `the file is larger than ${MAX_FILE_BYTES} bytes; split it into smaller files.`);
    }
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      this.#hold(chunk.subarray(from, end));
      yield this.#take();
      from = end + 1;
    }
    this.#hold(chunk.subarray(from));
  }

  *end(): Generator<Line, void, undefined> {
    if (this.#held > 0) {
      yield this.#take();
    }
  }

  #hold(part: Buffer): void {
    this.#held += part.length;
    if (this.#held > MAX_LINE_BYTES) {
      this.#refuse(this.#number + 1, `the line is longer than ${MAX_LINE_BYTES} bytes; write one instance on each line.`);
    }
    this.#parts.push(part);
  }

  #take(): Line {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#held = 0;
    this.#number++;
    if (this.#number > MAX_LINES) {
      this.#refuse(this.#number, `the file has more than ${MAX_LINES} lines; split it into smaller files.`);
    }
    return { number: this.#number, text: this.#decode(bytes) };
  }

  #decode(bytes: Buffer): string {
    try {
      return UTF8.decode(bytes);
    } catch (error) {
      return this.#refuse(this.#number, 'the line is not UTF-8; save the file as UTF-8.', error);
    }
  }

  #refuse(line: number, reason: string, cause?: unknown): never {
    throw new C3Error('input', `${this.#path}:${line}: ${reason}`, cause === undefined ? undefined : { cause });
  }
}
