/** Tables that are written by columns. */
import type { Fields } from '../chat/fields.ts';
import { isRecord } from '../shared/guard.ts';

/**
 * The rows of a table: `{columns, data}`, a list for each column, or an object for each with the same rows in it, as
 * pandas writes them; null for an object that is none. What has another form than the first column is no column.
 */
export function rowsOf(table: Fields): readonly Fields[] | null {
  const { columns, data } = table;
  if (Array.isArray(columns) && Array.isArray(data)) {
    return data
      .filter((row): row is readonly unknown[] => Array.isArray(row))
      .map((row) => Object.fromEntries(columns.map((name, at) => [String(name), row[at]])));
  }
  const first = Object.values(table).find((one) => typeof one === 'object' && one !== null);
  const keys = keysOf(first);
  const cells = Object.entries(table).filter(
    ([, one]) => Array.isArray(one) === Array.isArray(first) && keysOf(one).length === keys.length,
  );
  // A single column is a list or an object.
  return keys.length === 0 || cells.length < 2
    ? null
    : keys.map((key) => Object.fromEntries(cells.map(([name, one]) => [name, cellAt(one, key)])));
}

const keysOf = (column: unknown): readonly string[] =>
  isRecord(column) || Array.isArray(column) ? Object.keys(column) : [];

const cellAt = (column: unknown, key: string): unknown =>
  Array.isArray(column) ? column[Number(key)] : isRecord(column) && Object.hasOwn(column, key) ? column[key] : null;
