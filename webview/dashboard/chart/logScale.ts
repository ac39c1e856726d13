/** Lines as a logarithmic scale can show them: nothing at 0, and no line with negative values. */
import type { LogScales } from './axes.ts';
import type { Line, LinePoint } from './lines.ts';

export interface LoggedLines {
  readonly lines: readonly Line[];
  /** Which scales are logarithmic in the end. */
  readonly scales: LogScales;
  /** What a reader must know of it; null where the chart is what was asked for. */
  readonly note: string | null;
}

/**
 * @param asked which scales shall be logarithmic; one with negative values, or with nothing above 0, stays linear and
 *   says so
 */
export function logged(lines: readonly Line[], asked: LogScales): LoggedLines {
  const points = lines.flatMap((line) => line.points);
  const [x, y] = [asked.x && fits(points.map((point) => point.x)), asked.y && fits(points.map((point) => point.y))];
  const shown = (point: LinePoint): boolean => (!x || point.x > 0) && (!y || point.y > 0);
  const kept = lines.map((line) => ({
    ...line,
    points: line.points
      .filter(shown)
      .map((point) => (y ? { ...point, low: atLeast0(point.low), high: atLeast0(point.high) } : point)),
    ...(line.front !== undefined && { front: line.front.filter((at) => (!x || at.x > 0) && (!y || at.y > 0)) }),
  }));
  if (points.length > 0 && kept.every((line) => line.points.length === 0)) {
    return { lines, scales: { x: false, y: false }, note: LINEAR };
  }
  const left = points.length - kept.reduce((sum, line) => sum + line.points.length, 0);
  const linear = points.length > 0 && ((asked.x && !x) || (asked.y && !y));
  const notes = [
    linear ? LINEAR : null,
    left === 0 ? null : `${left} ${left === 1 ? 'point' : 'points'} at 0 cannot be shown on a logarithmic axis.`,
  ];
  const note = notes.filter((part) => part !== null).join(' ');
  return { lines: kept, scales: { x, y }, note: note === '' ? null : note };
}

const LINEAR = 'An axis stays linear: not all of its values are positive.';

/** Zeros can be left out; what has negative values cannot be shown. */
const fits = (values: readonly number[]): boolean =>
  values.some((value) => value > 0) && !values.some((value) => value < 0);

const atLeast0 = (value: number | null): number | null => (value === null ? null : Math.max(0, value));
