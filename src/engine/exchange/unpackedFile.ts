/** The new file that a log is unpacked into: bounded, and cut back to what is whole. */
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
  /** Where the last line that is whole ends. */
  private lines = 0;

  /** @param most bytes that it may have. @param refused makes the error for more. @throws what the system says */
  constructor(path: string, most: number, refused: () => Error) {
    this.file = createNew(path);
    this.most = most;
    this.tooMuch = refused;
  }

  /** @throws the error for more than it may have; what the system says */
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

  /** Takes back what was written from a place on. */
  cutTo(length: number): void {
    ftruncateSync(this.file, length);
    this.length = length;
    this.lines = Math.min(this.lines, length);
  }

  /** Takes back a last line that is not whole, of JSON that has lines. */
  cutToLines(): void {
    if (this.isText && this.lines > 0) {
      this.cutTo(this.lines);
    }
  }

  /** A stream's end that writes at once: what came before an error is there. */
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
