/** Instances from a user's JSONL file: one JSON object a line with a question and an answer. */
import { basename } from 'node:path';
import { C3Error, messageOf } from '../shared/errors.ts';
import type { Instance } from '../shared/records.ts';
import { readLines } from './lines.ts';
import type { Line } from './lines.ts';
import { uidSha } from './uid.ts';

/** Column names in the order in which they are tried, as in the C3 repository's loader; a null counts as absent. */
export const QUESTION_COLUMNS: readonly string[] = ['input', 'question', 'problem', 'prompt', 'instruction', 'query', 'text'];
export const ANSWER_COLUMNS: readonly string[] = ['answer', 'golden', 'label', 'target'];
const UID_COLUMNS: readonly string[] = ['uid', 'id', 'task_id'];

const MAX_UID_LENGTH = 200;

/** A JSON number keeps this many significant digits exactly. */
const EXACT_DIGITS = 15;

export interface LoadOptions {
  /** Instances wanted at most; reading stops there. */
  readonly limit?: number;
}

export interface LoadedInstances {
  /** In file order, each question once. */
  readonly instances: Instance[];
  /** Rows left out because an earlier row asks the same question. */
  readonly duplicates: number;
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Reads a JSONL file as a stream; blank lines and lines starting with # are skipped.
 * @param path also names the instances: a row without its own text uid, id or task_id becomes `<basename>:<line>`
 * @throws C3Error('input') naming file and 1-based line for the first row that is no instance, and for a file without any
 */
export async function loadJsonl(path: string, options: LoadOptions = {}): Promise<LoadedInstances> {
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  if (options.limit !== undefined && (!Number.isInteger(options.limit) || options.limit < 1)) {
    throw new C3Error('input', `Cannot load ${options.limit} instances of ${path}: give a whole number from 1.`);
  }
  const seen = new Map<string, Instance>();
  let rows = 0;
  for await (const lines of readLines(path)) {
    for (const line of lines) {
      const text = line.text.trim();
      if (text === '' || text.startsWith('#')) {
        continue;
      }
      const instance = readInstance({ number: line.number, text }, path);
      rows++;
      if (!seen.has(instance.uidSha)) {
        seen.set(instance.uidSha, instance);
      }
      if (seen.size >= limit) {
        return { instances: [...seen.values()], duplicates: rows - seen.size };
      }
    }
  }
  if (rows === 0) {
    throw new C3Error('input', `${path} holds no instances: write one JSON object with a question and an answer on each line.`);
  }
  return { instances: [...seen.values()], duplicates: rows - seen.size };
}

function readInstance(line: Line, path: string): Instance {
  const place = `${path}:${line.number}`;
  const row = parseRow(line.text, place);
  const question = readQuestion(row, place);
  const level = column(row, 'level');
  return {
    uid: readUid(row, place) ?? `${basename(path)}:${line.number}`,
    uidSha: uidSha(question),
    question,
    answer: readAnswer(row, place),
    source: basename(path),
    level: typeof level === 'number' && Number.isInteger(level) ? level : null,
  };
}

function parseRow(text: string, place: string): Row {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (error) {
    const reason = messageOf(error).replace(/\s+/gu, ' ').slice(0, 120);
    throw new C3Error('input', `${place}: the line is no JSON (${reason}); write one JSON object on each line.`, { cause: error });
  }
  if (!isRow(row)) {
    throw new C3Error('input', `${place}: the line is no JSON object; write {"question": ..., "answer": ...}.`);
  }
  return row;
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readUid(row: Row, place: string): string | undefined {
  for (const name of UID_COLUMNS) {
    const value = column(row, name);
    if (typeof value !== 'string' || value.trim() === '') {
      continue;
    }
    if (value.length > MAX_UID_LENGTH) {
      throw new C3Error('input', `${place}: "${name}" is longer than ${MAX_UID_LENGTH} characters; give a shorter one or none.`);
    }
    return value;
  }
  return undefined;
}

function readQuestion(row: Row, place: string): string {
  const name = findColumn(row, QUESTION_COLUMNS, 'question', place);
  const value = column(row, name);
  if (typeof value !== 'string' || value.trim() === '') {
    throw new C3Error('input', `${place}: "${name}" is ${describe(value)}; write the question as text.`);
  }
  return value;
}

function readAnswer(row: Row, place: string): string {
  const name = findColumn(row, ANSWER_COLUMNS, 'answer', place);
  const value = column(row, name);
  const text = typeof value === 'number' ? numberText(value, name, place) : value;
  if (typeof text !== 'string') {
    throw new C3Error('input', `${place}: "${name}" is ${describe(value)}; write the answer as text or a number.`);
  }
  const gold = goldOf(text);
  if (gold === '') {
    throw new C3Error('input', `${place}: "${name}" holds no answer; write it as text or a number, in GSM8K's form after ####.`);
  }
  return gold;
}

/** A number beyond double precision has already lost digits when it is parsed, so it is refused. */
function numberText(value: number, name: string, place: string): string {
  const text = String(value);
  if (!/^-?\d+(\.\d+)?$/u.test(text) || text.replace(/^[-0.]+|[-.]/gu, '').length > EXACT_DIGITS) {
    throw new C3Error('input', `${place}: the number in "${name}" may not be kept exactly; put it in quotes.`);
  }
  return text;
}

/** The gold of GSM8K's form (`...\n#### 1,234` gives 1234), else the text itself; outer whitespace is dropped. */
function goldOf(text: string): string {
  const lastLine = text.trim().split('\n').at(-1) ?? '';
  const marked = /^\s*####(?!#)(.*)$/u.exec(lastLine)?.[1]?.trim();
  if (marked === undefined) {
    return text.trim();
  }
  // Commas go only where they group thousands; in 1,2 they may part a list.
  return /^[-+]?\$?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/u.test(marked) ? marked.replaceAll(',', '') : marked;
}

function findColumn(row: Row, names: readonly string[], meaning: string, place: string): string {
  const found = names.find((name) => column(row, name) !== undefined);
  if (found === undefined) {
    throw new C3Error('input', `${place}: the row has no ${meaning}; name its column one of ${names.join(', ')}.`);
  }
  return found;
}

function column(row: Row, name: string): unknown {
  return row[name] ?? undefined;
}

function describe(value: unknown): string {
  if (typeof value === 'string') {
    return 'empty';
  }
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}
