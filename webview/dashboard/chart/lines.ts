/** The data of a chart, independent of how it is drawn: lines of points, each with a target to open. */

import type { Spread } from '../../../src/domain/stepRows.ts';

/** The place that a point opens. */
export type Target =
  | { readonly kind: 'round'; readonly run: string; readonly phase: 'train' | 'evaluate'; readonly iteration: number }
  | { readonly kind: 'run'; readonly run: string };

export interface LinePoint {
  readonly x: number;
  readonly y: number;
  /** Lower end of the whisker; null if there is none. */
  readonly low: number | null;
  readonly high: number | null;
  readonly box: Spread | null;
  readonly target: Target;
  /** Returns the parts of the point's tooltip, after the name of its line. */
  readonly words: () => readonly string[];
  /** Look of the point if it is not that of the line; below 0 for a muted one. */
  readonly look?: number;
  /** Label of the point. */
  readonly label?: string;
}

export interface Line {
  readonly label: string;
  readonly name: string;
  /** Index of the color, dashes and marker. */
  readonly look: number;
  /** The points in order of x. */
  readonly points: readonly LinePoint[];
  /** True if the points are joined by a line. */
  readonly joined: boolean;
  /** True if the line steps half way between two points, like the outline of a histogram. */
  readonly stepped?: true;
  /** A stepped line behind the points. */
  readonly front?: readonly { readonly x: number; readonly y: number }[];
}

/** A point by its place in the lines. */
export interface Place {
  readonly line: number;
  readonly index: number;
}

export function pointAt(lines: readonly Line[], place: Place | null): LinePoint | null {
  return place === null ? null : (lines[place.line]?.points[place.index] ?? null);
}

/** Returns the index of the point with the nearest x, or -1. Points must be in order of x. */
export function nearestIndex(points: readonly Pick<LinePoint, 'x'>[], x: number): number {
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((points[middle]?.x ?? 0) < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const before = points[low - 1];
  const at = points[low];
  return before !== undefined && at !== undefined && x - before.x <= at.x - x
    ? low - 1
    : Math.min(low, points.length - 1);
}

/** Returns the last point of the first line that has points. */
export function lastPlace(lines: readonly Line[]): Place | null {
  const line = lines.findIndex(({ points }) => points.length > 0);
  return line < 0 ? null : { line, index: (lines[line]?.points.length ?? 0) - 1 };
}

const PAGE = 10;

/**
 * Returns the point to which a key moves: along the line, or to the nearest point of another line.
 * Returns undefined for keys that do not move.
 */
export function placeAfterKey(lines: readonly Line[], from: Place, key: string): Place | undefined {
  const last = (lines[from.line]?.points.length ?? 0) - 1;
  const along = (index: number): Place => ({ line: from.line, index: Math.min(last, Math.max(0, index)) });
  switch (key) {
    case 'ArrowRight':
      return along(from.index + 1);
    case 'ArrowLeft':
      return along(from.index - 1);
    case 'PageDown':
      return along(from.index + PAGE);
    case 'PageUp':
      return along(from.index - PAGE);
    case 'Home':
      return along(0);
    case 'End':
      return along(last);
    case 'ArrowDown':
      return findAcross(lines, from, 1);
    case 'ArrowUp':
      return findAcross(lines, from, -1);
    default:
      return undefined;
  }
}

function findAcross(lines: readonly Line[], from: Place, by: 1 | -1): Place {
  const x = pointAt(lines, from)?.x ?? 0;
  for (let line = from.line + by; line >= 0 && line < lines.length; line += by) {
    const points = lines[line]?.points ?? [];
    if (points.length > 0) {
      return { line, index: nearestIndex(points, x) };
    }
  }
  return from;
}

/**
 * Returns the lowest and the highest drawn value, or null if nothing is drawn.
 * @param always values to include
 */
export function findExtent(
  lines: readonly Line[],
  of: (point: LinePoint) => readonly (number | null)[],
  always: readonly number[] = [],
): { readonly low: number; readonly high: number } | null {
  let low = Infinity;
  let high = -Infinity;
  for (const { points } of lines) {
    for (const point of points) {
      for (const value of of(point)) {
        if (value === null) {
          continue;
        }
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  if (low > high) {
    return null;
  }
  return { low: Math.min(low, ...always), high: Math.max(high, ...always) };
}
