/** Tuples as JSON Lines: the header in the first line, then a row in each. */

import type { OutFile } from '../../files/outFile.ts';
import { TUPLE_COLUMNS, type TupleHeader, type TupleRow, type TupleWriter } from './tupleSchema.ts';

/** Characters that are written together. */
const PIECE = 2 ** 20;

export class JsonLinesTuples implements TupleWriter {
  private readonly file: OutFile;
  private lines: string[] = [];
  private length = 0;

  constructor(file: OutFile, header: TupleHeader) {
    this.file = file;
    this.add(header);
  }

  write(row: TupleRow): void {
    this.add(
      Object.fromEntries(
        TUPLE_COLUMNS.map(({ name, of }) => {
          const value = of(row);
          return [name, typeof value === 'object' && value !== null ? [...value] : value];
        }),
      ),
    );
  }

  finish(): void {
    this.file.write(this.lines.join(''));
    this.lines = [];
    this.length = 0;
  }

  private add(value: object): void {
    const line = `${JSON.stringify(value)}\n`;
    this.lines.push(line);
    this.length += line.length;
    if (this.length >= PIECE) {
      this.finish();
    }
  }
}
