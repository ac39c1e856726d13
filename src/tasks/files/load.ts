/** Problems from a user's file: JSONL or CSV, in any of the known forms. */
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

// Files that are one JSON document: a list of items, or an object that has them under `problems`.

const MOST_BYTES = 2 ** 26;
const MOST_ITEMS = 1_000_000;

/**
 * The items of a JSON document, bounded; where the file is no single document, its lines as JSON objects. An item that
 * is no object becomes the column `value`, and what an object says beside its `problems` is a column of each.
 * @throws C3Error('input') for a file that cannot be read, is too large or is no UTF-8
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

/** Undefined where the text is not one JSON value. */
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
  /** Problems wanted at most; reading stops there. */
  readonly limit?: number;
  /**
   * auto recognises the form row by row; a name demands it of all. A file whose name ends in .csv is CSV whatever the
   * form of its rows.
   */
  readonly format?: TaskFormat;
  /** How many of MBPP's tests its questions show; the first unless set otherwise. */
  readonly showTests?: ShownTests;
}

export interface LoadedProblems {
  /** In file order, each question once. */
  readonly problems: Problem[];
  /** Rows left out because an earlier row asks the same question. */
  readonly duplicates: number;
  /** Uids of problems whose question a later row asks with another answer or other tests, in file order. */
  readonly contradicted: readonly string[];
  /** The forms in which rows were read, with their numbers, in the order of their first row. */
  readonly formats: ReadonlyMap<RowFormat, number>;
}

/** The kinds of files: what reads their rows, and what an empty one should hold. */
const FILES = {
  csv: { read: readCsvRows, holds: 'a header and one record with a question and an answer on each line' },
  jsonl: { read: readJsonRows, holds: 'one JSON object with a question and an answer on each line' },
  logiqa: { read: readLogiqaRows, holds: 'a blank line and the seven lines of a question for each' },
  document: { read: readDocumentRows, holds: 'one JSON list of items, or one JSON object on each line' },
  pddl: { read: readPddlRows, holds: 'one or more problems as (define (problem NAME) ...)' },
} as const;

/**
 * Reads a file as a stream.
 * @param path also names the problems: a row without an id of its own becomes `<basename>:<line>`
 * @throws C3Error('input') naming file and 1-based line for the first row that is no problem, and for a file without
 *   any
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

/** What is wrong with a row can be gone to. */
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

/** What scores a problem: its tests, or else its answer. */
const scoring = ({ answer, tests }: Problem): string => JSON.stringify(tests ?? answer);
