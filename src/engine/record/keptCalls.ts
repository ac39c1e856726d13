/**
 * What is recorded and not stored yet: lines beside the store that `c3 import` reads. The file is made where the store
 * is busy or fails, so that nothing that was taken in is in memory alone, and goes once all is stored.
 */
import { closeSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createNew, PRIVATE_FOLDER } from '../../files/newFile.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';
import { counted } from '../../shared/text/words.ts';

/** Bytes of the file. */
const MOST_BYTES = 2 ** 30;

export class KeptCalls {
  private place: string;
  private file: number | null = null;
  private bytes = 0;
  private kept = 0;
  private lost = 0;
  private why = '';

  /** @param path of a file that is not there; one in the folder for temporary files is made where this cannot be */
  constructor(path: string) {
    this.place = path;
  }

  /** Where the file is. */
  get path(): string {
    return this.place;
  }

  /** Lines that are in it. */
  get count(): number {
    return this.kept;
  }

  /**
   * Writes a line. What cannot be written is counted: the program that is recorded goes on.
   * @returns whether it is written
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
      this.why = messageOf(error);
      return false;
    }
  }

  /** All of it is stored: the file goes. */
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
   * Why not all is stored, and where what is not is.
   * @param what the lines are, such as `call`
   * @param also sentences on what is in no file
   */
  failure(reason: Error, what: string, also: readonly string[] = []): C3Error {
    const { path, kept, lost, why } = this;
    const file = /\s/u.test(path) ? JSON.stringify(path) : path;
    const sentences = [
      `The recording is not stored as a whole: ${reason.message.replace(/\.$/u, '')}.`,
      ...(kept > 0
        ? [`What is not, ${counted(kept, what)}, is in ${path}: once the store can be written, run c3 import ${file}.`]
        : []),
      ...(lost > 0 ? [`Lost: ${counted(lost, what)}, which could not be written there (${why}).`] : []),
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
      // A store whose folder cannot be written fails for that reason.
      this.place = join(mkdtempSync(join(tmpdir(), 'c3-record-')), basename(this.place));
      return createNew(this.place);
    }
  }
}
