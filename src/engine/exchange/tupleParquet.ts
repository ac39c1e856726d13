/** Tuples as Parquet: the header as key-value metadata, then row groups of bounded size. */

import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { writeColumn } from 'hyparquet-writer/src/column.js';
import { snappyCompress } from 'hyparquet-writer/src/snappy.js';
import type { OutFile } from '../../files/outFile.ts';
import { TUPLE_COLUMNS, type TupleColumn, type TupleHeader, type TupleRow, type TupleWriter } from './tupleSchema.ts';

/** A row group ends when its lists have this many values, or at this many rows. */
const MOST_VALUES = 2 ** 19;
const MOST_ROWS = 2 ** 15;

/** Bytes that go to the file after each row group. */
class FileBytes extends ByteWriter {
  private readonly file: OutFile;

  constructor(file: OutFile) {
    super(2 ** 20);
    this.file = file;
  }

  flush(): void {
    this.file.write(this.getBytes());
    this.index = 0;
  }

  override finish(): void {
    this.flush();
  }
}

type PageData = Parameters<typeof writeColumn>[0]['pageData'];

const ROOT: SchemaElement = { name: 'tuples', num_children: TUPLE_COLUMNS.length };
/** The elements of each column, from the outermost one. */
const ELEMENTS = TUPLE_COLUMNS.map((column) => ({ column, elements: listElements(column) }));
/** A column of a row group is one page. */
const WHOLE = 0;
const COMPRESSION = { codec: 'SNAPPY', compressors: { SNAPPY: snappyCompress } } as const;

export class ParquetTuples implements TupleWriter {
  private readonly writer: ParquetWriter;
  private rows: TupleRow[] = [];
  private values = 0;

  constructor(file: OutFile, header: TupleHeader) {
    this.writer = new ParquetWriter({
      writer: new FileBytes(file),
      schema: [ROOT, ...ELEMENTS.flatMap(({ elements }) => elements)],
      kvMetadata: Object.entries(header).map(([key, value]: [string, unknown]) => ({
        key,
        value: typeof value === 'string' ? value : JSON.stringify(value),
      })),
      createdBy: `c3 ${header.c3}`,
    });
  }

  write(row: TupleRow): void {
    this.rows.push(row);
    this.values += row.prompt.length + 2 * row.tokens.length;
    if (this.values >= MOST_VALUES || this.rows.length >= MOST_ROWS) {
      this.endGroup();
    }
  }

  finish(): void {
    this.endGroup();
    void this.writer.finish();
  }

  /**
   * Writes the row group. The library's own `write` walks a list value by value, which took most of
   * the time of an export; its encoder of a column takes the levels of all values at once.
   */
  private endGroup(): void {
    const { rows } = this;
    const { writer, row_groups: groups } = this.writer;
    this.rows = [];
    this.values = 0;
    if (rows.length === 0) {
      return;
    }
    const start = writer.offset;
    const columns = ELEMENTS.map(({ column, elements }) => {
      const element = elements.at(-1) ?? ROOT;
      const encoder = {
        ...{ columnName: column.name, element, schemaPath: [ROOT, ...elements], ...COMPRESSION },
        ...{ stats: elements.length === 1, pageSize: WHOLE, columnIndex: false, offsetIndex: false },
        ...(elements.length > 1 && { encoding: 'PLAIN' as const }),
      };
      return writeColumn({ writer, column: encoder, pageData: readPageData(column, rows) }).chunk;
    });
    groups.push({
      columns,
      total_byte_size: columns.reduce((sum, one) => sum + (one.meta_data?.total_uncompressed_size ?? 0n), 0n),
      total_compressed_size: BigInt(writer.offset - start),
      num_rows: BigInt(rows.length),
    });
    this.writer.num_rows += BigInt(rows.length);
    void writer.flush?.();
  }
}

/** Returns the elements of a column in the schema; a list has three levels, as the format asks for. */
function listElements({ name, type }: TupleColumn): SchemaElement[] {
  switch (type) {
    case 'text':
      return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' }];
    case 'int32':
      return [{ name, type: 'INT32', repetition_type: 'REQUIRED' }];
    case 'int64':
      return [{ name, type: 'INT64', repetition_type: 'REQUIRED' }];
    case 'float':
      return [{ name, type: 'FLOAT', repetition_type: 'REQUIRED' }];
    case 'double':
      return [{ name, type: 'DOUBLE', repetition_type: 'REQUIRED' }];
    case 'list of int32':
    case 'list of float':
      return [
        { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'REQUIRED', type: type === 'list of int32' ? 'INT32' : 'FLOAT' },
      ];
  }
}

function readPageData(column: TupleColumn, rows: readonly TupleRow[]): PageData {
  switch (column.type) {
    case 'list of int32':
    case 'list of float':
      return flattenLists(rows.map((row) => column.of(row)));
    case 'int64':
      return toFlatData(rows.map((row) => BigInt(column.of(row))));
    default:
      return toFlatData(rows.map((row) => column.of(row)));
  }
}

const toFlatData = (values: PageData['values']): PageData => ({
  values,
  definitionLevels: [],
  repetitionLevels: [],
  maxDefinitionLevel: 0,
});

/**
 * Returns the values of lists one after another with their levels (Dremel): the definition level is 0
 * for a missing list, 1 for an empty one and 2 for a value; the repetition level is 0 where a list
 * begins.
 */
export function flattenLists(lists: readonly (Int32Array | Float32Array | null)[]): PageData {
  const length = lists.reduce((sum, list) => sum + Math.max(1, list?.length ?? 0), 0);
  const definitionLevels = new Array<number>(length).fill(2);
  const repetitionLevels = new Array<number>(length).fill(1);
  let end = 0;
  for (const list of lists) {
    repetitionLevels[end] = 0;
    if (list === null || list.length === 0) {
      definitionLevels[end] = list === null ? 0 : 1;
    }
    end += Math.max(1, list?.length ?? 0);
  }
  return { values: joinLists(lists, length), definitionLevels, repetitionLevels, maxDefinitionLevel: 2 };
}

/** Returns the values of lists one after another, null for a missing or an empty list. */
function joinLists(lists: readonly (Int32Array | Float32Array | null)[], length: number): PageData['values'] {
  if (lists.some((list) => list === null || list.length === 0)) {
    return lists.flatMap((list) => (list === null || list.length === 0 ? [null] : [...list]));
  }
  const values = lists[0] instanceof Int32Array ? new Int32Array(length) : new Float32Array(length);
  let end = 0;
  for (const list of lists) {
    values.set(list ?? [], end);
    end += list?.length ?? 0;
  }
  return values;
}
