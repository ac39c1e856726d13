/** Lines of a user's text file, streamed and bounded, so that no file can exhaust memory. */
import { createReadStream } from 'node:fs';
import { C3Error, messageOf } from '../shared/errors.ts';

/** Bytes, without the line end. */
export const MAX_LINE_BYTES = 2 ** 20;
export const MAX_LINES = 1_000_000;

const LINE_FEED = 0x0a;
/** A byte order mark is dropped from the file's first line and kept as text elsewhere. */
const FIRST_LINE = new TextDecoder('utf-8', { fatal: true });
const LATER_LINE = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface Line {
  /** 1-based. */
  readonly number: number;
  readonly text: string;
}

/**
 * The lines of a UTF-8 file without their LF or CRLF and without a byte order mark.
 * @throws C3Error('input') when the file cannot be read, is not UTF-8, or exceeds MAX_LINE_BYTES or MAX_LINES
 */
export async function* readLines(path: string): AsyncGenerator<Line, void, undefined> {
  let number = 0;
  for await (const bytes of splitLines(path)) {
    number++;
    if (number > MAX_LINES) {
      throw new C3Error('input', `${path}:${number}: the file has more than ${MAX_LINES} lines; split it into smaller files.`);
    }
    yield { number, text: decode(bytes, path, number) };
  }
}

async function* splitLines(path: string): AsyncGenerator<Buffer, void, undefined> {
  let number = 1;
  let parts: Buffer[] = [];
  let held = 0;
  const hold = (part: Buffer): void => {
    held += part.length;
    if (held > MAX_LINE_BYTES) {
      throw new C3Error('input', `${path}:${number}: the line is longer than ${MAX_LINE_BYTES} bytes; put one JSON object on each line.`);
    }
    parts.push(part);
  };
  for await (const chunk of chunksOf(path)) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      hold(chunk.subarray(from, end));
      yield Buffer.concat(parts);
      parts = [];
      held = 0;
      number++;
      from = end + 1;
    }
    hold(chunk.subarray(from));
  }
  if (held > 0) {
    yield Buffer.concat(parts);
  }
}

async function* chunksOf(path: string): AsyncGenerator<Buffer, void, undefined> {
  const stream = createReadStream(path);
  const chunks: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((error: unknown) => {
        throw new C3Error('input', `Cannot read ${path}: ${messageOf(error)}; give the path of a readable JSONL file.`, { cause: error });
      });
      if (next.done === true) {
        return;
      }
      if (Buffer.isBuffer(next.value)) {
        yield next.value;
      }
    }
  } finally {
    stream.destroy();
  }
}

function decode(bytes: Buffer, path: string, number: number): string {
  try {
    const text = (number === 1 ? FIRST_LINE : LATER_LINE).decode(bytes);
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  } catch (error) {
    throw new C3Error('input', `${path}:${number}: the line is not UTF-8; save the file as UTF-8.`, { cause: error });
  }
}
