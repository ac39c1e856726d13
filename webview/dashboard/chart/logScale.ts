/** Prepares lines for logarithmic scales, which cannot show zeros or negative values. */

import type { LogScales } from './axes.ts';
import type { Line, LinePoint } from './lines.ts';

export interface LoggedLines {
  readonly lines: readonly Line[];
  /** The scales that are really logarithmic. */
  readonly scales: LogScales;
  /** Explains to the user what differs from the request; null if nothing does. */
  readonly note: string | null;
}

/**
 * Prepares lines for the requested scales. A scale stays linear, with a note, if it has negative
 * values or no positive one. Points at 0 are left out.
 */
export function toLogLines(lines: readonly Line[], asked: LogScales): LoggedLines {
  const points = lines.flatMap((line) => line.points);
  const [x, y] = [
    asked.x && fitsLogScale(points.map((point) => point.x)),
    asked.y && fitsLogScale(points.map((point) => point.y)),
  ];
  const shown = (point: LinePoint): boolean => (!x || point.x > 0) && (!y || point.y > 0);
  const kept = lines.map((line) => ({
    ...line,
    points: line.points
      .filter(shown)
      .map((point) => (y ? { ...point, low: clampTo0(point.low), high: clampTo0(point.high) } : point)),
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

/** Returns true if a logarithmic scale can show the values, except for zeros, which can be left out. */
const fitsLogScale = (values: readonly number[]): boolean =>
  values.some((value) => value > 0) && !values.some((value) => value < 0);

const clampTo0 = (value: number | null): number | null => (value === null ? null : Math.max(0, value));
