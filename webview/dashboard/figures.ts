/** The specification of a figure of the dashboard: its drawing and its table. */

import type { Interval } from '../../src/domain/credit.ts';
import type { ChartAxis } from '../../src/shared/protocols/dashboardProtocol.ts';
import { count, decimal, NOT_MEASURED, formatPercent1, formatPercentBounds } from '../common/format.ts';
import { AXIS_WORDS } from './chart/axes.ts';
import type { Cell, DataTable } from './chart/dataTable.ts';
import type { Line } from './chart/lines.ts';
import type { ShownRun, View } from './view.ts';

export interface FigureSpec {
  readonly id: string;
  readonly title: string;
  /** Explains the drawing if the title does not. */
  readonly note: string | null;
  /** Title and tick format of the horizontal axis. */
  readonly x: (axis: ChartAxis) => { readonly title: string; readonly format: (value: number) => string };
  readonly yAxis: string;
  readonly formatY: (value: number) => string;
  /** Values that the vertical scale always includes. */
  readonly always: readonly number[];
  /** True to draw boxes if there is only one line with boxes. */
  readonly boxes: boolean;
  /** True if the figure has its own horizontal axis, independent of the chosen one. */
  readonly ownAxis?: boolean;
  /** True if the line may be smoothed by a mean over steps. */
  readonly smooth: boolean;
  readonly lines: (view: View, axis?: ChartAxis) => readonly Line[];
  readonly table: (view: View, axis?: ChartAxis) => DataTable;
  /** Returns the newest value of the shown run. */
  readonly latest: (view: View) => string;
  /** Text shown if there is nothing to draw. */
  readonly nothing: string;
}

export const numberCell = (value: number | null | undefined, write: (value: number) => string): Cell =>
  value === null || value === undefined || !Number.isFinite(value)
    ? { raw: null, text: NOT_MEASURED }
    : { raw: value, text: write(value) };

/** Formats a number with three decimals. */
export const digits3 = (value: number): string => decimal(value, 3);

/** Formats a number with three decimals and its sign. */
export const signed3 = (value: number): string => `${value > 0 ? '+' : ''}${digits3(value)}`;

export const textCell = (text: string): Cell => ({ raw: text, text });

/** The horizontal axis of a chart over training. */
export const overTraining: FigureSpec['x'] = (axis) => ({
  title: AXIS_WORDS[axis].title,
  format: AXIS_WORDS[axis].tick,
});

/** Returns the column for the position on an axis. The step is in a column of its own in every table. */
export const axisColumns = (axis: ChartAxis): DataTable['columns'] =>
  axis === 'step' ? [] : [{ name: AXIS_WORDS[axis].column, numeric: true }];

export const axisCells = (axis: ChartAxis, at: number | null): readonly Cell[] =>
  axis === 'step' ? [] : [numberCell(at, axis === 'time' ? AXIS_WORDS.time.full : count)];

/** Describes the position of a point besides its step. */
export const describeAxisValue = (axis: ChartAxis, at: number): readonly string[] =>
  axis === 'step' ? [] : [AXIS_WORDS[axis].full(at)];

/** Returns the column that distinguishes runs; none if there is only one run. */
export const runColumns = (view: View): DataTable['columns'] =>
  view.runs.length < 2 ? [] : [{ name: 'Run', numeric: false }];

export const runCells = (view: View, { tag, record }: ShownRun): readonly Cell[] =>
  view.runs.length < 2 ? [] : [{ raw: `${tag}: ${record.title}`, text: tag }];

/** Describes a share with its interval. */
export const formatShareInterval = (interval: Interval): string =>
  `${formatPercent1(interval.value)} ${formatPercentBounds(interval)}`;

export const INTERVAL_COLUMNS: DataTable['columns'] = ['Value', 'Low', 'High', 'n'].map((name) => ({
  name,
  numeric: true,
}));

export const intervalCells = (interval: Interval | null): readonly Cell[] => [
  ...[interval?.value, interval?.low, interval?.high].map((value) => numberCell(value, formatPercent1)),
  numberCell(interval?.n, count),
];
