/** The new file that a log is unpacked into. Its size is limited; it can be cut to complete lines. */

import { closeSync, ftruncateSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { createNew } from '../../files/newFile.ts';

const [LINE_FEED, OPEN_LIST, OPEN_OBJECT] = [0x0a, 0x5b, 0x7b] as const;

export class UnpackedFile {
  /** Bytes. */
  length = 0;
  private readonly file: number;
  private readonly most: number;
  private readonly tooMuch: () => Error;
  private isText = false;
  /** Offset of the end of the last complete line. */
  private lines = 0;

  /**
   * @param most maximum bytes
   * @param refused makes the error for more bytes
   * @throws errors of the system
   */
  constructor(path: string, most: number, refused: () => Error) {
    this.file = createNew(path);
    this.most = most;
    this.tooMuch = refused;
  }

  /** @throws the error for too many bytes; errors of the system */
  put(bytes: Buffer): void {
    if (this.length + bytes.length > this.most) {
      throw this.tooMuch();
    }
    if (this.length === 0) {
      this.isText = bytes[0] === OPEN_OBJECT || bytes[0] === OPEN_LIST;
    }
    const line = bytes.lastIndexOf(LINE_FEED);
    this.lines = line === -1 ? this.lines : this.length + line + 1;
    for (let done = 0; done < bytes.length;) {
      const written = writeSync(this.file, bytes, done, bytes.length - done, this.length);
      done += written;
      this.length += written;
    }
  }

  /** Removes everything after an offset. */
  cutTo(length: number): void {
    ftruncateSync(this.file, length);
    this.length = length;
    this.lines = Math.min(this.lines, length);
  }

  /** Removes an incomplete last line, if the content is JSON with lines. */
  cutToLines(): void {
    if (this.isText && this.lines > 0) {
      this.cutTo(this.lines);
    }
  }

  /** Returns a stream that writes at once, so that everything before an error is in the file. */
  writable(): Writable {
    return new Writable({
      write: (bytes: Buffer, _, done) => {
        try {
          this.put(bytes);
          done();
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)));
        }
      },
    });
  }

  close(): void {
    closeSync(this.file);
  }
}
