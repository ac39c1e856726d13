/** Reads columns of a row, with a sentence for each fault; a null counts as absent. */

import { C3Error } from '../../shared/errors.ts';
import type { Row } from './rows.ts';

const MAX_UID_LENGTH = 200;

/** Number of significant digits that a JSON number keeps exactly. */
const EXACT_DIGITS = 15;

export function readColumn(row: Row, name: string): unknown {
  return Object.hasOwn(row.columns, name) ? (row.columns[name] ?? undefined) : undefined;
}

/** Returns the first existing column. @throws C3Error('input') that names all valid ones */
export function requireColumn(row: Row, names: readonly string[], meaning: string): string {
  const found = names.find((name) => readColumn(row, name) !== undefined);
  if (found === undefined) {
    const [first = ''] = names;
    throw new C3Error(
      'input',
      `${row.place}: the row has no ${meaning}; name its column ${names.length === 1 ? first : `one of ${names.join(', ')}`}.`,
    );
  }
  return found;
}

/** Returns a text that is not blank, unchanged. @throws C3Error('input') */
export function readTextColumn(row: Row, name: string, meaning: string): string {
  const value = readColumn(row, name);
  if (typeof value !== 'string' || value.trim() === '') {
    throw new C3Error('input', `${row.place}: "${name}" is ${describeValue(value)}; write the ${meaning} as text.`);
  }
  return value;
}

/** Returns a text, which may be blank; empty if the column is absent. @throws C3Error('input') */
export function readOptionalText(row: Row, name: string): string {
  const value = readColumn(row, name) ?? '';
  if (typeof value !== 'string') {
    throw new C3Error('input', `${row.place}: "${name}" is ${describeValue(value)}; write it as text.`);
  }
  return value;
}

/** Returns a text, or a number that double precision keeps. @throws C3Error('input') */
export function readAnswerText(row: Row, name: string): string {
  const value = readColumn(row, name);
  const text = typeof value === 'number' ? formatExactNumber(value, name, row.place) : value;
  if (typeof text !== 'string') {
    throw new C3Error(
      'input',
      `${row.place}: "${name}" is ${describeValue(value)}; write the answer as text or a number.`,
    );
  }
  return text;
}

/** Returns a list of texts; empty if the column is absent. @throws C3Error('input') */
export function readTexts(row: Row, name: string, most: number): string[] {
  const value: unknown = readColumn(row, name) ?? [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw new C3Error('input', `${row.place}: "${name}" is not a list of strings; write it as ["...", "..."].`);
  }
  if (value.length > most) {
    throw new C3Error('input', `${row.place}: "${name}" holds more than ${most} texts.`);
  }
  return value;
}

/**
 * Returns the text in the first of some columns that holds one, as a uid; undefined if none does.
 * @throws C3Error('input') if it is too long
 */
export function readUid(row: Row, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = readColumn(row, name);
    if (typeof value !== 'string' || value.trim() === '') {
      continue;
    }
    if (value.length > MAX_UID_LENGTH) {
      throw new C3Error(
        'input',
        `${row.place}: "${name}" is longer than ${MAX_UID_LENGTH} characters; give a shorter one or none.`,
      );
    }
    return value;
  }
  return undefined;
}

/** Formats a number, and refuses one beyond double precision, which has lost digits. */
function formatExactNumber(value: number, name: string, place: string): string {
  const text = String(value);
  if (!/^-?\d+(\.\d+)?$/u.test(text) || text.replace(/^[-0.]+|[-.]/gu, '').length > EXACT_DIGITS) {
    throw new C3Error('input', `${place}: the number in "${name}" may not be kept exactly; put it in quotes.`);
  }
  return text;
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') {
    return 'empty';
  }
  if (value === undefined) {
    return 'missing';
  }
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}
