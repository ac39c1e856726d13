/**
 * A strict reader of CSV (RFC 4180). It is our own because the grammar has only five rules, and
 * because rows must be streamed, bounded and numbered by line, so that a broken quote is reported at
 * its place instead of swallowing the rest of the file.
 */

import { C3Error } from '../../shared/errors.ts';
import { MAX_LINE_BYTES, readLines } from './lines.ts';
import type { Line } from './lines.ts';

export interface CsvRecord {
  /** 1-based number of the line that the record began on. */
  readonly number: number;
  readonly fields: readonly string[];
}

const MAX_FIELDS = 1000;

/**
 * Yields the records of a CSV file in UTF-8. Commas separate fields; a field in quotes may contain
 * commas, line ends and doubled quotes. Lines end with LF or CRLF; empty lines between records are
 * skipped. All other deviations are errors.
 * @throws C3Error('input') with the file and line
 */
export async function* readCsvRecords(path: string): AsyncGenerator<CsvRecord, void, undefined> {
  const reader = new RecordReader(path);
  for await (const lines of readLines(path)) {
    for (const line of lines) {
      const record = reader.add(line);
      if (record !== null) {
        yield record;
      }
    }
  }
  reader.end();
}

/** Assembles records from lines; a record is unfinished while a quote is open. */
class RecordReader {
  private readonly path: string;
  private fields: string[] = [];
  private field = '';
  private quoted = false;
  private start = 0;
  private size = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Returns the record that ends with this line, or null if none does. */
  add({ number, text }: Line): CsvRecord | null {
    if (!this.quoted) {
      if (text === '' || text === '\r') {
        return null;
      }
      this.start = number;
      this.size = 0;
      this.fields = [];
      this.field = '';
    }
    this.size += text.length + 1;
    if (this.size > MAX_LINE_BYTES) {
      this.refuse(this.start, `the record is longer than ${MAX_LINE_BYTES} characters; is a closing quote missing?`);
    }
    let at = this.quoted ? this.readQuoted(text, 0, number) : this.readField(text, 0, number);
    while (at !== null && at < text.length) {
      at = this.readField(text, at + 1, number);
    }
    return this.quoted ? null : { number: this.start, fields: this.fields };
  }

  /** Checks that no record is unfinished. @throws C3Error('input') */
  end(): void {
    if (this.quoted) {
      this.refuse(this.start, 'a quote is opened in this record and never closed; close it.');
    }
  }

  /**
   * Reads the field that begins at `at`.
   * @returns the position of the comma behind it, or the text's length; null if the field continues in
   *   the next line
   */
  private readField(text: string, at: number, line: number): number | null {
    if (text[at] === '"') {
      this.quoted = true;
      return this.readQuoted(text, at + 1, line);
    }
    const comma = text.indexOf(',', at);
    const end = comma === -1 ? text.length : comma;
    const field = comma === -1 && text.endsWith('\r') ? text.slice(at, -1) : text.slice(at, end);
    if (field.includes('"')) {
      this.refuse(
        line,
        'there is a quote inside a field without quotes; put the field in quotes and double the quote.',
      );
    }
    this.push(field, line);
    return end;
  }

  /** Continues a field inside quotes. */
  private readQuoted(text: string, from: number, line: number): number | null {
    let at = from;
    for (;;) {
      const quote = text.indexOf('"', at);
      if (quote === -1) {
        this.field += `${text.slice(at)}\n`;
        return null;
      }
      this.field += text.slice(at, quote);
      if (text[quote + 1] !== '"') {
        at = quote + 1;
        break;
      }
      this.field += '"';
      at = quote + 2;
    }
    const end = at === text.length - 1 && text.endsWith('\r') ? text.length : at;
    if (end < text.length && text[end] !== ',') {
      this.refuse(line, 'text follows a closing quote; double each quote that belongs to the field.');
    }
    this.quoted = false;
    this.push(this.field, line);
    this.field = '';
    return end;
  }

  private push(field: string, line: number): void {
    if (this.fields.length === MAX_FIELDS) {
      this.refuse(line, `the record has more than ${MAX_FIELDS} fields.`);
    }
    this.fields.push(field);
  }

  private refuse(line: number, reason: string): never {
    throw new C3Error('input', `${this.path}:${line}: ${reason}`);
  }
}
