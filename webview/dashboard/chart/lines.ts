/** What a chart draws, whatever draws it: lines of points, each of which leads somewhere. */
import type { Spread } from '../../../src/domain/stepRows.ts';

/** What a point leads to. */
export type Target =
  | { readonly kind: 'round'; readonly run: string; readonly phase: 'train' | 'evaluate'; readonly iteration: number }
  | { readonly kind: 'run'; readonly run: string };

export interface LinePoint {
  readonly x: number;
  readonly y: number;
  /** The ends of a whisker; null where there is none. */
  readonly low: number | null;
  readonly high: number | null;
  readonly box: Spread | null;
  readonly target: Target;
  /** What the point says beside its line's name, part by part. */
  readonly words: () => readonly string[];
  /** Its own look and label, where they are not the line's; a look below 0 is a quiet one. */
  readonly look?: number;
  readonly label?: string;
}

/** Points in the order of x. */
export interface Line {
  readonly label: string;
  readonly name: string;
  /** Which colour, dashes and marker. */
  readonly look: number;
  readonly points: readonly LinePoint[];
  /** Whether the points are joined. */
  readonly joined: boolean;
  /** Whether they are joined by steps, half way between two of them: the outline of a histogram. */
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

/** The index of the point whose x is nearest; -1 without points. Points are in the order of x. */
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

/** The last point of the first line that has any. */
export function lastPlace(lines: readonly Line[]): Place | null {
  const line = lines.findIndex(({ points }) => points.length > 0);
  return line < 0 ? null : { line, index: (lines[line]?.points.length ?? 0) - 1 };
}

const PAGE = 10;

/**
 * Where a key leads from a point: along the line, or to the nearest point of the next one; undefined for a key that
 * means nothing here.
 */
export function moved(lines: readonly Line[], from: Place, key: string): Place | undefined {
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
      return across(lines, from, 1);
    case 'ArrowUp':
      return across(lines, from, -1);
    default:
      return undefined;
  }
}

function across(lines: readonly Line[], from: Place, by: 1 | -1): Place {
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
 * The lowest and highest of everything that lines draw, with what shall be seen in any case; null where nothing is
 * drawn.
 */
export function extent(
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
