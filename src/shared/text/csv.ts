/** Tables as comma-separated values (RFC 4180), for spreadsheets and data frames. */

export type CsvValue = string | number | boolean | null;

/**
 * Formats a table. A text that a spreadsheet would take for a formula gets an apostrophe in front,
 * because texts come from models and other sources.
 * @returns lines that end in CRLF; null is an empty cell
 */
export function formatCsv(header: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return [header, ...rows].map((row) => `${row.map(formatCsvCell).join(',')}\r\n`).join('');
}

function formatCsvCell(value: CsvValue): string {
  if (value === null) {
    return '';
  }
  const words = typeof value === 'string' && /^[=+\-@\t\r]/u.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/u.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
}
