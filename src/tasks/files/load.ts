/** Problems from a user's file: JSONL or CSV, in any of the known formats. */

import { basename } from 'node:path';
import type { Problem } from '../../domain/problem.ts';
import { readRegular } from '../../files/regularFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { uidSha } from '../uid.ts';
import { readRow, recogniseRow, type RowFormat, type ShownTests, type TaskFormat } from './formats.ts';
import { readLogiqaRows } from './logiqa.ts';
import { readPddlRows } from './pddlFile.ts';
import { readCsvRows, readJsonRows, type Row } from './rows.ts';

// Files that are one JSON document: a list of items, or an object with items.

const MOST_BYTES = 2 ** 26;
const MOST_ITEMS = 1_000_000;

/**
 * Yields the items of a JSON document, with limits. If the file is not a single document, its lines
 * are JSON objects. An item that is not an object becomes the column `value`. Plain fields beside an
 * object's items become columns of each item.
 * @throws C3Error('input') for a file that cannot be read, is too large or is not UTF-8
 */
async function* readDocumentRows(path: string): AsyncGenerator<Row, void, undefined> {
  const advice = 'give the path of a readable JSON or JSONL file';
  const bytes = await readRegular(path, MOST_BYTES, advice, 'input', 'split it into smaller files');
  const document = parsed(bytes, path);
  if (document === undefined) {
    yield* readJsonRows(path);
    return;
  }
  const shared = isRecord(document) ? Object.entries(document).filter(([, value]) => typeof value !== 'object') : [];
  const items: unknown = isRecord(document) ? (document['instances'] ?? [document]) : document;
  if (!Array.isArray(items) || items.length > MOST_ITEMS) {
    throw new C3Error('input', `${path}: the document is no list of at most ${MOST_ITEMS} items.`);
  }
  for (const [index, item] of items.entries()) {
    const own: unknown = item;
    yield {
      number: index + 1,
      place: `${path}, item ${index + 1}`,
      line: 1,
      columns: { ...Object.fromEntries(shared), ...(isRecord(own) ? own : { value: own }) },
    };
  }
}

/** Parses the text, or returns undefined if it is not one JSON value. */
function parsed(bytes: Buffer, path: string): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new C3Error('input', `${path}: the file is not UTF-8; save the text as UTF-8.`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // JSON Lines, whose reader says what is wrong and where.
  }
}

export interface LoadOptions {
  /** Most problems to load; reading stops there. */
  readonly limit?: number;
  /**
   * auto recognizes the format of each row; a name requires that format of all rows. A file whose name
   * ends in .csv is CSV with rows in any format.
   */
  readonly format?: TaskFormat;
  /** The tests of MBPP in its questions; the default is the first. */
  readonly showTests?: ShownTests;
}

export interface LoadedProblems {
  /** In file order, each question once. */
  readonly problems: Problem[];
  /** Number of rows that are left out because an earlier row asks the same question. */
  readonly duplicates: number;
  /** Uids of problems whose question a later row asks with another answer or other tests, in file order. */
  readonly contradicted: readonly string[];
  /** The formats of rows, with the number of rows of each, in the order of their first row. */
  readonly formats: ReadonlyMap<RowFormat, number>;
}

/** The kinds of files: their row readers, and the expected contents for a message about an empty file. */
const FILES = {
  csv: { read: readCsvRows, holds: 'a header and one record with a question and an answer on each line' },
  jsonl: { read: readJsonRows, holds: 'one JSON object with a question and an answer on each line' },
  logiqa: { read: readLogiqaRows, holds: 'a blank line and the seven lines of a question for each' },
  document: { read: readDocumentRows, holds: 'one JSON list of items, or one JSON object on each line' },
  pddl: { read: readPddlRows, holds: 'one or more problems as (define (problem NAME) ...)' },
} as const;

/**
 * Reads a file as a stream.
 * @param path also names the problems: a row without its own id becomes `<basename>:<line>`
 * @throws C3Error('input') with the file and 1-based line for the first invalid row, and for a file
 *   without problems
 */
export async function loadProblems(
  path: string,
  { limit = Infinity, format = 'auto', showTests = 'first' }: LoadOptions = {},
): Promise<LoadedProblems> {
  if (limit !== Infinity && (!Number.isInteger(limit) || limit < 1)) {
    throw new C3Error('input', `Cannot load ${limit} problems of ${path}: give a whole number from 1.`);
  }
  const seen = new Map<string, Problem>();
  const contradicted = new Set<string>();
  const formats = new Map<RowFormat, number>();
  let rows = 0;
  const { read, holds } = FILES[fileKind(path, format)];
  for await (const row of read(path)) {
    const rowFormat = format === 'auto' || format === 'csv' ? atRow(row, path, () => recogniseRow(row)) : format;
    formats.set(rowFormat, (formats.get(rowFormat) ?? 0) + 1);
    rows++;
    const problem = atRow(row, path, () => problemOf(row, path, rowFormat, showTests));
    const earlier = seen.get(problem.uidSha);
    if (earlier === undefined) {
      seen.set(problem.uidSha, problem);
    } else if (scoring(earlier) !== scoring(problem)) {
      contradicted.add(earlier.uid);
    }
    if (seen.size >= limit) {
      break;
    }
  }
  if (rows === 0) {
    throw new C3Error('input', `${path} holds no problems: write ${holds}.`);
  }
  return { problems: [...seen.values()], duplicates: rows - seen.size, contradicted: [...contradicted], formats };
}

function fileKind(path: string, format: TaskFormat): keyof typeof FILES {
  if (format === 'csv' || path.toLowerCase().endsWith('.csv')) {
    return 'csv';
  }
  if (format === 'logiqa' || format === 'pddl') {
    return format;
  }
  return format === 'arbench' || format === 'planbench' ? 'document' : 'jsonl';
}

/** Adds an action to errors that opens the row. */
function atRow<Result>({ number, line = number }: Row, path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof C3Error)) {
      throw error;
    }
    throw new C3Error(error.kind, error.message, {
      cause: error,
      action: { kind: 'openPlace', file: path, line, column: 1 },
    });
  }
}

function problemOf(row: Row, path: string, format: RowFormat, shown: ShownTests): Problem {
  const { uid, question, answer, level, tests } = readRow(row, format, shown);
  const source = basename(path);
  const problem = { uid: uid ?? `${source}:${row.number}`, uidSha: uidSha(question), question, answer, source, level };
  return tests === undefined ? problem : { ...problem, tests };
}

/** Returns the scoring of a problem: its tests, or else its answer. */
const scoring = ({ answer, tests }: Problem): string => JSON.stringify(tests ?? answer);
