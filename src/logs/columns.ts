/** Reads tables that are written by columns. */

import type { Fields } from '../chat/fields.ts';
import { isRecord } from '../shared/guard.ts';
import { ANSWERED, ASKED } from './keys.ts';

const SAID: ReadonlySet<string> = new Set([...ASKED, ...ANSWERED]);

/**
 * Returns the rows of a table, or null if the object is no table. A table is `{columns, data}`, one
 * list for each column, or one object for each column with the rows as keys, as pandas writes them.
 * Fields with another form than the first column are no columns.
 */
export function readTableRows(table: Fields): readonly Fields[] | null {
  const { columns: names, data } = table;
  if (Array.isArray(names) && Array.isArray(data)) {
    return data
      .filter((row): row is readonly unknown[] => Array.isArray(row))
      .map((row) => Object.fromEntries(row.slice(0, names.length).map((cell, at) => [String(names[at]), cell])));
  }
  const first = Object.values(table).find((one) => typeof one === 'object' && one !== null);
  const isLists = Array.isArray(first);
  // A column of prompts or answers may be shorter than the others. Rows beyond its end lack that
  // cell.
  const columns = Object.entries(table).filter(([, one]) => Array.isArray(one) === isLists);
  const said = isLists ? columns.filter(([name]) => SAID.has(name)).map(([, one]) => keysOf(one)) : [];
  const keys = [keysOf(first), ...said].reduce((longest, one) => (one.length > longest.length ? one : longest));
  const cells = columns.filter(
    ([name, one]) => keysOf(one).length === keys.length || (isLists && SAID.has(name) && keysOf(one).length > 0),
  );
  // A single column is an ordinary list or object.
  if (keys.length === 0 || cells.length < 2) {
    return null;
  }
  const beside = findRepeatedScalars(table, keys.length);
  return keys.map((key) => ({
    ...beside,
    ...Object.fromEntries(cells.map(([name, one]) => [name, cellAt(one, key)])),
  }));
}

/** The most characters that scalar fields may add up to when they are repeated in every row. */
const MOST_REPEATED = 2 ** 24;

/** Returns the scalar fields that apply to every row, such as a system prompt or a reward. */
export function findRepeatedScalars(value: Fields, count: number): Fields {
  const scalars = Object.entries(value).filter(([, one]) => typeof one !== 'object' && one !== undefined);
  const length = scalars.reduce((sum, [, one]) => sum + String(one).length, 0);
  return length * count > MOST_REPEATED ? {} : Object.fromEntries(scalars);
}

const keysOf = (column: unknown): readonly string[] =>
  isRecord(column) || Array.isArray(column) ? Object.keys(column) : [];

const cellAt = (column: unknown, key: string): unknown =>
  Array.isArray(column) ? column[Number(key)] : isRecord(column) && Object.hasOwn(column, key) ? column[key] : null;
