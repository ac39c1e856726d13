/**
 * Parts that the SVG pictures of report pages share: axes with round numbers, and a frame with a
 * name. No coordinate is ever NaN.
 */

import type { Interval } from '../domain/credit.ts';
import { escapeText } from './words.ts';

/**
 * Returns round numbers from at or below `low` to at or above `high`: multiples of 1, 2 or 5 times
 * a power of ten.
 * @param most approximate limit of steps; equal bounds are widened
 */
export function ticks(low: number, high: number, most = 5): readonly number[] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!(high - low > 1e-9 * size)) {
    return ticks(low - (0.1 * size || 0.5), low + (0.1 * size || 0.5), most);
  }
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = power * ([1, 2, 5].find((factor) => factor * power * most >= (high - low) * (1 - 1e-9)) ?? 10);
  const first = Math.floor(low / step + 1e-6);
  const last = Math.ceil(high / step - 1e-6);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** The picture's size, and the bounds of the area between the axes. */
export const WIDTH = 560;
const HEIGHT = 330;
export const TOP = 30;
export const BOTTOM = HEIGHT - 42;
export const LEFT = 46;

export interface Axis {
  readonly ticks: readonly number[];
  /** Returns the coordinate of a value. */
  readonly at: (value: number) => number;
}

/** Returns an axis between round numbers around these values. */
export function axis(low: number, high: number, from: number, to: number): Axis {
  const marks = ticks(low, high);
  const [first, last] = [marks[0] ?? 0, marks.at(-1) ?? 1];
  return { ticks: marks, at: (value) => from + ((value - first) / (last - first)) * (to - from) };
}

/** Returns an axis from 0 to the largest count, with round whole numbers as ticks. */
export function makeAmountAxis(values: readonly number[], from: number, to: number): Axis {
  const largest = Math.max(...values);
  const end = largest > 0 ? largest : 1;
  return {
    ticks: ticks(0, end).filter((mark) => mark <= end && Number.isInteger(mark)),
    at: (value) => from + (value / end) * (to - from),
  };
}

/**
 * Returns the range of the y axis. It contains all values. Intervals may extend it by no more than
 * the spread of the values, so that two seeds' wide intervals do not flatten the picture. Shares
 * stay between 0 and 1.
 */
export function findYRange(values: readonly Interval[]): readonly [low: number, high: number] {
  const middle = values.map(({ value }) => value);
  const [lowest, highest] = [Math.min(...middle), Math.max(...middle)];
  const reach = Math.max(highest - lowest, 0.05);
  const low = Math.max(Math.min(...values.map((each) => each.low ?? each.value)), lowest - reach);
  const high = Math.min(Math.max(...values.map((each) => each.high ?? each.value)), highest + reach);
  return lowest >= 0 && highest <= 1 ? [Math.max(0, low), Math.min(1, high)] : [low, high];
}

/** Rounds a coordinate to a tenth. */
export const round = (value: number): string => String(Number(value.toFixed(1)));
export const point = (x: number, y: number): string => `${round(x)} ${round(y)}`;

/**
 * Returns a whole picture: its name and description for screen readers, and its content.
 * @param id unique among the pictures of the page
 */
export function picture(id: string, name: string, description: string, content: string, height = HEIGHT): string {
  return `<svg class="picture" viewBox="0 0 ${WIDTH} ${round(height)}" role="img" aria-labelledby="${id}-name ${id}-words"><title id="${id}-name">${escapeText(name)}</title><desc id="${id}-words">${escapeText(description, 2000)}</desc>${content}</svg>`;
}

export function axes(
  x: Axis,
  y: Axis,
  right: number,
  words: {
    readonly x: string;
    readonly y: string;
    readonly tickX: (value: number) => string;
    readonly tickY: (value: number) => string;
  },
): string {
  const across = y.ticks.map(
    (tick) =>
      `<path class="grid" d="M${point(LEFT, y.at(tick))}H${round(right)}"/><text class="tick" x="${LEFT - 7}" y="${round(y.at(tick) + 4)}" text-anchor="end">${words.tickY(tick)}</text>`,
  );
  const along = x.ticks.map(
    (tick) =>
      `<path class="axis" d="M${point(x.at(tick), BOTTOM)}v4"/><text class="tick" x="${round(x.at(tick))}" y="${BOTTOM + 17}" text-anchor="middle">${words.tickX(tick)}</text>`,
  );
  const names = `<text class="name" x="4" y="14">${words.y}</text><text class="name" x="${round((LEFT + right) / 2)}" y="${HEIGHT - 6}" text-anchor="middle">${words.x}</text>`;
  return `${across.join('')}<path class="axis" d="M${LEFT} ${BOTTOM}H${round(right)}"/>${along.join('')}${names}`;
}

/** Returns the number of digits that distinguish neighboring ticks. */
export function tickDigits({ ticks: marks }: Axis): number {
  const step = Math.abs((marks[1] ?? 1) - (marks[0] ?? 0));
  return Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}
