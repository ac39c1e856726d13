/** The rows of a data file, each with its place: one JSON object in each line, or CSV with a header. */

import type { Problem } from '../../domain/problem.ts';
import { C3Error, toErrorMessage, type ErrorAction } from '../../shared/errors.ts';
import { readCsvRecords } from './csv.ts';
import { readLines } from './lines.ts';

/** One row: a value for each column name. */
export interface Row {
  /** 1-based line on which the row begins. */
  readonly number: number;
  /** `file:line`, for messages. */
  readonly place: string;
  /** The line to open for the row, if the row is not a line of its file. */
  readonly line?: number;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** The contents of a row for its problem. */
export type RowContent = Pick<Problem, 'question' | 'answer' | 'level' | 'tests'> & {
  readonly uid: string | undefined;
};

/**
 * Reads a JSONL file as a stream; blank lines and lines starting with # are skipped.
 * @throws C3Error('input') with the file and line
 */
export async function* readJsonRows(path: string): AsyncGenerator<Row, void, undefined> {
  for await (const lines of readLines(path)) {
    for (const { number, text: line } of lines) {
      const text = line.trim();
      if (text !== '' && !text.startsWith('#')) {
        const place = `${path}:${number}`;
        yield {
          number,
          place,
          columns: parseObject(text, place, { kind: 'openPlace', file: path, line: number, column: 1 }),
        };
      }
    }
  }
}

/**
 * Reads a CSV file as a stream; its first record names the columns. An empty field counts as absent.
 * @throws C3Error('input') with the file and line
 */
export async function* readCsvRows(path: string): AsyncGenerator<Row, void, undefined> {
  let header: readonly string[] | null = null;
  for await (const { number, fields } of readCsvRecords(path)) {
    const place = `${path}:${number}`;
    if (header === null) {
      header = readHeader(fields, place);
      continue;
    }
    if (fields.length !== header.length) {
      throw new C3Error(
        'input',
        `${place}: the record has ${fields.length} fields where the header names ${header.length}; put fields with commas in quotes.`,
      );
    }
    const columns = header.map((name, index): [string, unknown] => [
      name,
      fields[index] === '' ? undefined : fields[index],
    ]);
    yield { number, place, columns: Object.fromEntries(columns) };
  }
}

function readHeader(fields: readonly string[], place: string): string[] {
  const names = fields.map((name) => name.trim());
  const wrong = names.find((name, index) => name === '' || names.indexOf(name) !== index);
  if (wrong !== undefined) {
    throw new C3Error(
      'input',
      `${place}: the header ${wrong === '' ? 'has a column without a name' : `names ${JSON.stringify(wrong.slice(0, 80))} twice`}; give each column a different name.`,
    );
  }
  return names;
}

function parseObject(text: string, place: string, action: ErrorAction): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = toErrorMessage(error).replace(/\s+/gu, ' ').slice(0, 120);
    const advice =
      text === '['
        ? 'the file is one JSON array: write its elements one on each line'
        : 'write one JSON object on each line';
    throw new C3Error('input', `${place}: the line is not JSON (${reason}); ${advice}.`, { cause: error, action });
  }
  if (!isObject(value)) {
    throw new C3Error('input', `${place}: the line is not a JSON object; write {"question": ..., "answer": ...}.`, {
      action,
    });
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
