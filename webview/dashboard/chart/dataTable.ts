/** The numbers behind a chart: one table for the page and for copies, so that the two never differ. */
import type { Target } from './lines.ts';

export interface Column {
  readonly name: string;
  readonly numeric: boolean;
}

/** A value as it is copied, and as it is written on the page. */
export interface Cell {
  readonly raw: string | number | null;
  readonly text: string;
}

export interface DataRow {
  readonly cells: readonly Cell[];
  /** What the row leads to. */
  readonly target: Target;
}

export interface DataTable {
  readonly columns: readonly Column[];
  readonly rows: readonly DataRow[];
}

/** Comma-separated values as RFC 4180 has them, numbers in full, what was not measured empty. */
export function csvOf({ columns, rows }: DataTable): string {
  const lines = [
    columns.map(({ name }) => quoted(name)),
    ...rows.map(({ cells }) => cells.map(({ raw }) => (typeof raw === 'number' ? numberText(raw) : quoted(raw ?? '')))),
  ];
  return `${lines.map((line) => line.join(',')).join('\r\n')}\r\n`;
}

const numberText = (value: number): string => (Number.isFinite(value) ? String(value) : '');

/** How formulas begin, in their full-width forms too, whatever blanks and invisible characters come before. */
const FORMULA = /^[\s\p{C}]*[=+\-@\u2212\uFE62\uFE63\uFE66\uFE6B\uFF0B\uFF0D\uFF1D\uFF20]|^[\t\r\n]/u;

/** A text that a spreadsheet would read as a formula gets an apostrophe before it: titles come from anywhere. */
function quoted(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
