/**
 * A file next to the store with recorded calls that are not stored yet, as lines that `c3 import`
 * reads. It is created when the store is busy or fails, so that no call is only in memory, and
 * removed once all calls are stored.
 */

import { closeSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createNew, PRIVATE_FOLDER } from '../../files/newFile.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { formatCounted } from '../../shared/text/words.ts';

/** Most bytes of the file. */
const MOST_BYTES = 2 ** 30;

export class KeptCalls {
  private place: string;
  private file: number | null = null;
  private bytes = 0;
  private kept = 0;
  private lost = 0;
  private why = '';

  /**
   * @param path path of the new file; if it cannot be created, a file in the folder for temporary
   *   files is used
   */
  constructor(path: string) {
    this.place = path;
  }

  get path(): string {
    return this.place;
  }

  /** Number of lines in the file. */
  get count(): number {
    return this.kept;
  }

  /**
   * Writes a line. Counts a line that cannot be written instead of throwing, so that the recorded
   * program goes on.
   * @returns true if the line is written
   */
  add(line: string): boolean {
    try {
      const bytes = Buffer.from(`${line}\n`);
      if (this.bytes + bytes.length > MOST_BYTES) {
        throw new Error(`it would have more than ${MOST_BYTES} bytes`);
      }
      this.file ??= this.open();
      writeFileSync(this.file, bytes);
      this.bytes += bytes.length;
      this.kept++;
      return true;
    } catch (error) {
      this.lost++;
      this.why = toErrorMessage(error);
      return false;
    }
  }

  /** Removes the file, because everything in it is stored. */
  clear(): void {
    this.close();
    if (this.bytes > 0) {
      rmSync(this.place, { force: true });
    }
    [this.bytes, this.kept, this.lost] = [0, 0, 0];
  }

  close(): void {
    if (this.file !== null) {
      closeSync(this.file);
      this.file = null;
    }
  }

  /**
   * Returns the error that says why not everything is stored, and which file has the rest.
   * @param what noun for one line, such as `call`
   * @param also further sentences, about data that is in no file
   */
  failure(reason: Error, what: string, also: readonly string[] = []): C3Error {
    const { path, kept, lost, why } = this;
    const file = /\s/u.test(path) ? JSON.stringify(path) : path;
    const sentences = [
      `The recording is not stored completely: ${reason.message.replace(/\.$/u, '')}.`,
      ...(kept > 0
        ? [
            `The rest (${formatCounted(kept, what)}) is in ${path}: once the store can be written, run c3 import ${file}.`,
          ]
        : []),
      ...(lost > 0 ? [`Lost: ${formatCounted(lost, what)}, which could not be written there (${why}).`] : []),
      ...also,
    ];
    const [kind, code] = reason instanceof C3Error ? [reason.kind, reason.code] : (['store', null] as const);
    return new C3Error(kind, sentences.join(' '), { cause: reason, ...(code !== null && { code }) });
  }

  private open(): number {
    if (this.bytes > 0) {
      throw new Error(`${this.place} was closed`);
    }
    try {
      mkdirSync(dirname(this.place), { recursive: true, mode: PRIVATE_FOLDER });
      return createNew(this.place);
    } catch {
      // The store itself may have failed because its folder cannot be written.
      this.place = join(mkdtempSync(join(tmpdir(), 'c3-record-')), basename(this.place));
      return createNew(this.place);
    }
  }
}
