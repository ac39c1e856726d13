/** What a figure of the dashboard is: how it is drawn, and which table is behind it. */
import type { Interval } from '../../src/domain/credit.ts';
import type { ChartAxis } from '../../src/shared/protocols/dashboardProtocol.ts';
import { count, NOT_MEASURED, percent1, percentBounds } from '../common/format.ts';
import { AXIS_WORDS } from './chart/axes.ts';
import type { Cell, DataTable } from './chart/dataTable.ts';
import type { Line } from './chart/lines.ts';
import type { ShownRun, View } from './view.ts';

export interface FigureSpec {
  readonly id: string;
  readonly title: string;
  /** What the drawing shows, where the title does not say it. */
  readonly note: string | null;
  /** The title of the level axis, and how a value is written at its ticks. */
  readonly x: (axis: ChartAxis) => { readonly title: string; readonly format: (value: number) => string };
  readonly yAxis: string;
  readonly formatY: (value: number) => string;
  /** Values that the upright scale always shows. */
  readonly always: readonly number[];
  /** Boxes are drawn where there is one line of them. */
  readonly boxes: boolean;
  /** True: its level axis is its own, whatever the others run over. */
  readonly ownAxis?: boolean;
  /** Whether a mean over steps may replace the line. */
  readonly smooth: boolean;
  readonly lines: (view: View, axis?: ChartAxis) => readonly Line[];
  readonly table: (view: View, axis?: ChartAxis) => DataTable;
  /** The newest value of the chosen run. */
  readonly latest: (view: View) => string;
  /** Why there is nothing to draw. */
  readonly nothing: string;
}

export const numberCell = (value: number | null | undefined, write: (value: number) => string): Cell =>
  value === null || value === undefined || !Number.isFinite(value)
    ? { raw: null, text: NOT_MEASURED }
    : { raw: value, text: write(value) };

export const textCell = (text: string): Cell => ({ raw: text, text });

/** The level axis of a chart over training. */
export const overTraining: FigureSpec['x'] = (axis) => ({
  title: AXIS_WORDS[axis].title,
  format: AXIS_WORDS[axis].tick,
});

/** The column of where a row is on an axis; the step has one of its own. */
export const axisColumns = (axis: ChartAxis): DataTable['columns'] =>
  axis === 'step' ? [] : [{ name: AXIS_WORDS[axis].column, numeric: true }];

export const axisCells = (axis: ChartAxis, at: number | null): readonly Cell[] =>
  axis === 'step' ? [] : [numberCell(at, axis === 'time' ? AXIS_WORDS.time.full : count)];

/** What a point says of its place, beside its step. */
export const axisWords = (axis: ChartAxis, at: number): readonly string[] =>
  axis === 'step' ? [] : [AXIS_WORDS[axis].full(at)];

/** The columns that distinguish runs; none where there is one only. */
export const runColumns = (view: View): DataTable['columns'] =>
  view.runs.length < 2 ? [] : [{ name: 'Run', numeric: false }];

export const runCells = (view: View, { tag, record }: ShownRun): readonly Cell[] =>
  view.runs.length < 2 ? [] : [{ raw: `${tag}: ${record.title}`, text: tag }];

/** A share with its interval, in words. */
export const shareWords = (interval: Interval): string => `${percent1(interval.value)} ${percentBounds(interval)}`;

export const INTERVAL_COLUMNS: DataTable['columns'] = ['Value', 'Low', 'High', 'n'].map((name) => ({
  name,
  numeric: true,
}));

export const intervalCells = (interval: Interval | null): readonly Cell[] => [
  ...[interval?.value, interval?.low, interval?.high].map((value) => numberCell(value, percent1)),
  numberCell(interval?.n, count),
];
