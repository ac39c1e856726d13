/** The numbers of a chart. The page and the copies use the same table, so that they never differ. */

import type { Target } from './lines.ts';

export interface Column {
  readonly name: string;
  readonly numeric: boolean;
}

/** A value as it is copied (`raw`) and as it is shown (`text`). */
export interface Cell {
  readonly raw: string | number | null;
  readonly text: string;
}

export interface DataRow {
  readonly cells: readonly Cell[];
  /** The place that the row opens. */
  readonly target: Target;
}

export interface DataTable {
  readonly columns: readonly Column[];
  readonly rows: readonly DataRow[];
}

/** Formats a table as comma-separated values (RFC 4180). Numbers are in full; missing values are empty. */
export function formatTableAsCsv({ columns, rows }: DataTable): string {
  const lines = [
    columns.map(({ name }) => quoteCell(name)),
    ...rows.map(({ cells }) =>
      cells.map(({ raw }) => (typeof raw === 'number' ? formatRawNumber(raw) : quoteCell(raw ?? ''))),
    ),
  ];
  return `${lines.map((line) => line.join(',')).join('\r\n')}\r\n`;
}

const formatRawNumber = (value: number): string => (Number.isFinite(value) ? String(value) : '');

/** Matches beginnings of formulas, also full-width, after white space and invisible characters. */
const FORMULA = /^[\s\p{C}]*[=+\-@\u2212\uFE62\uFE63\uFE66\uFE6B\uFF0B\uFF0D\uFF1D\uFF20]|^[\t\r\n]/u;

/** Quotes a text. An apostrophe keeps spreadsheets from running it: titles are not trusted. */
function quoteCell(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
