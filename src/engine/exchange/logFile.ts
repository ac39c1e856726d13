/** A file that is read in pieces, never as a whole. */

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { LogSource } from '../../logs/source.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';

const WINDOW = 2 ** 20;
/** Bytes that are read for an entry that is far from the previous one, as with interleaved traces. */
const NEARBY_BYTES = 2 ** 15;
const flags: Readonly<Partial<Record<string, number>>> = constants;

export class LogFile implements LogSource {
  readonly name: string;
  readonly size: number;
  private readonly file: number;
  private readonly window = Buffer.alloc(WINDOW);
  /** Start and end offset of the bytes in the window. */
  private from = 0;
  private to = 0;

  /**
   * @param name shown in errors
   * @throws C3Error('input') if it cannot be opened or is not a regular file: reading a pipe would block
   */
  constructor(path: string, name = path) {
    this.name = name;
    try {
      this.file = openSync(path, constants.O_RDONLY | (flags['O_NONBLOCK'] ?? 0));
    } catch (error) {
      throw this.unreadable(toErrorMessage(error), error);
    }
    const found = fstatSync(this.file);
    if (!found.isFile()) {
      this.close();
      throw this.unreadable('it is not a regular file');
    }
    this.size = found.size;
  }

  read(start: number, end: number): Buffer {
    if (end - start > WINDOW) {
      const bytes = Buffer.allocUnsafe(end - start);
      this.whole(bytes, start);
      return bytes;
    }
    if (start < this.from || end > this.to) {
      const follows = start >= this.from && start <= this.to + NEARBY_BYTES;
      const length = follows ? WINDOW : Math.max(NEARBY_BYTES, end - start);
      this.to = start + this.fill(this.window.subarray(0, length), start);
      this.from = start;
      if (end > this.to) {
        throw this.unreadable('it became shorter while it was read');
      }
    }
    return this.window.subarray(start - this.from, end - this.from);
  }

  fill(buffer: Buffer, start: number): number {
    const length = Math.min(buffer.length, this.size - start);
    this.whole(buffer.subarray(0, length), start);
    return length;
  }

  close(): void {
    closeSync(this.file);
  }

  private whole(bytes: Buffer, start: number): void {
    for (let done = 0; done < bytes.length;) {
      let read: number;
      try {
        read = readSync(this.file, bytes, done, bytes.length - done, start + done);
      } catch (error) {
        throw this.unreadable(toErrorMessage(error), error);
      }
      if (read === 0) {
        throw this.unreadable('it became shorter while it was read');
      }
      done += read;
    }
  }

  private unreadable(why: string, cause?: unknown): C3Error {
    return new C3Error('input', `Cannot read ${this.name}: ${why}; give the path of a log or of a bucket file.`, {
      cause,
    });
  }
}
