/** Formats a report of `c3 bench` as text. */

import { describeMissingPeer, type BenchFigure, type BenchReport } from './report.ts';

const COLUMNS = ['figure', 'value', 'unit', 'ceiling', 'ratio', 'peer', 'times peer'] as const;
/** Columns that are aligned to the left. The others hold numbers and are aligned to the right. */
const WORDS: ReadonlySet<number> = new Set([0, 2]);

/** Returns the machine and the peers, then an aligned table of the figures. */
export function formatReport({ suite, figures, hardware, peer, peerStatus, peerReason }: BenchReport): string {
  const rows = [COLUMNS, ...figures.map(formatFigureCells)];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        WORDS.has(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  const failed =
    peerStatus === undefined || peerStatus === 'measured' ? null : { status: peerStatus, reason: peerReason ?? '' };
  const beside =
    failed !== null ? [describeMissingPeer(failed)] : peer === undefined || peer === null ? [] : [`peer: ${peer}`];
  return [`${suite} on ${hardware}`, ...beside, '', ...lines].join('\n');
}

function formatFigureCells({ name, value, unit, ceiling, ratio, peer, peerRatio }: BenchFigure): string[] {
  return [
    name,
    value === null ? 'not measured' : formatFigureNumber(value),
    unit,
    formatFigureNumber(ceiling),
    ratio === null ? '-' : ratio.toFixed(2),
    formatFigureNumber(peer),
    peerRatio === null ? '-' : peerRatio.toFixed(2),
  ];
}

/**
 * Formats a number with thousands separators and at most three decimals, fewer for larger values.
 */
function formatFigureNumber(value: number | null): string {
  if (value === null) {
    return '-';
  }
  return value.toLocaleString('en-US', {
    maximumFractionDigits: Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 3,
  });
}
