/**
 * Draws curves with their intervals as an SVG picture: one for each method, or for each measure of
 * a run. Pure: numbers in, text out.
 */

import type { Interval } from '../domain/credit.ts';
import {
  makeAmountAxis,
  axes,
  axis,
  BOTTOM,
  LEFT,
  picture,
  point,
  findYRange,
  round,
  tickDigits,
  TOP,
  WIDTH,
  type Axis,
} from './axis.ts';
import { formatCompact, decimal, escapeText } from './words.ts';

/** The appearance of a curve in every picture. */
export interface Look {
  readonly label: string;
  /** Its index among all curves, which determines color, dashes and marker. */
  readonly place: number;
}

export interface Curve extends Look {
  readonly points: readonly { readonly x: number; readonly y: Interval }[];
}

/** The number of colors in the page's style: classes m0, m1, ... */
export const COLOURS = 8;
const DASHES = ['', '7 4', '2 3', '10 3 2 3', '12 5', '5 2 1 2 1 2', '1 5', '4 2'] as const;
/** Outlines within 5 units of the origin. */
export const MARKERS = [
  'M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z',
  'M-4-4h8v8h-8z',
  'M0-5 4.8 3.8h-9.6z',
  'M0-5.5 5.5 0 0 5.5-5.5 0z',
  'M0 5 4.8-3.8h-9.6z',
  'M-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z',
  'M0-5 4.8-1.5 2.9 4h-5.8l-1.9-5.5z',
  'M-4.5-4.5 4.5 4.5v-9l-9 9z',
] as const;

/** The height of a line of text, and the approximate width of its characters. */
export const LINE = 14;
export const textWidth = (text: string): number =>
  Array.from(text).reduce((sum, character) => sum + ((character.codePointAt(0) ?? 0) > 0x1100 ? 12 : 7.2), 0);
export const LONGEST_LABEL = 24;
/** Larger values, negative x and NaN are not drawn. */
const LARGEST = 1e100;

export const isFinitePoint = ({ x, y }: { readonly x: number; readonly y: Interval }): boolean =>
  [x, y.value, y.low ?? 0, y.high ?? 0].every((value) => Math.abs(value) < LARGEST) && x >= 0;
/** Returns the label as it is in a picture. */
export const shown = ({ label }: Look): string => escapeText(label, LONGEST_LABEL);

/**
 * Returns places for labels with these preferred heights: in their order, a line apart, and as near
 * as possible (least squares, found by pooling labels that are too close), within the bounds if
 * there is room.
 */
export function spreadLabels(wanted: readonly number[], low: number, high: number, gap = LINE): readonly number[] {
  const order = wanted.map((height, index) => ({ height, index })).sort((a, b) => a.height - b.height);
  const pools: { sum: number; readonly members: number[] }[] = [];
  for (const [rank, { height, index }] of order.entries()) {
    let pool = { sum: height - rank * gap, members: [index] };
    for (
      let before = pools.at(-1);
      before !== undefined && before.sum / before.members.length >= pool.sum / pool.members.length;
      before = pools.at(-1)
    ) {
      pools.pop();
      pool = { sum: before.sum + pool.sum, members: [...before.members, ...pool.members] };
    }
    pools.push(pool);
  }
  const places = wanted.map(() => 0);
  const lowest = Math.max(low, high - gap * (wanted.length - 1));
  let rank = 0;
  for (const { sum, members } of pools) {
    for (const index of members) {
      places[index] = Math.max(low, Math.min(lowest, sum / members.length)) + gap * rank++;
    }
  }
  return places;
}

/** The names of the axes, and the unit after `... ends at 0.5 after 12 ` in the description. */
export interface CurveWords {
  readonly x: string;
  readonly y: string;
  readonly unit: string;
}

/**
 * Draws a line for each curve, its interval as a band, and its name at its end.
 * @param id unique among the pictures of the page
 * @returns null if no curve has a point
 */
export function curvePicture(id: string, name: string, all: readonly Curve[], words: CurveWords): string | null {
  const curves = all
    .map((curve) => ({ ...curve, points: curve.points.filter(isFinitePoint).toSorted((a, b) => a.x - b.x) }))
    .filter(({ points }) => points.length > 0);
  if (curves.length === 0) {
    return null;
  }
  const right = WIDTH - 24 - Math.max(...curves.map((curve) => textWidth(curve.label.slice(0, LONGEST_LABEL))));
  const x = makeAmountAxis(
    curves.flatMap(({ points }) => points.map((each) => each.x)),
    LEFT,
    right,
  );
  const y = axis(...findYRange(curves.flatMap(({ points }) => points.map((each) => each.y))), BOTTOM, TOP);
  const ends = curves.map(({ points }) => points.at(-1) ?? { x: 0, y: { value: 0, low: null, high: null, n: 0 } });
  const places = spreadLabels(
    ends.map((end) => y.at(end.y.value)),
    TOP,
    BOTTOM - 4,
  );
  const digits = tickDigits(y);
  const drawn = curves.map(
    ({ place, points }) =>
      `<g class="m${place % COLOURS}" clip-path="url(#${id}-clip)">${band(points, x, y)}${line(points, place, x, y)}</g>`,
  );
  const labels = curves.map((curve, index) => {
    const end = ends[index] ?? { x: 0, y: { value: 0 } };
    const height = places[index] ?? 0;
    return `<g class="m${curve.place % COLOURS}"><path class="leader" d="M${point(x.at(end.x) + 3, y.at(end.y.value))}L${point(right + 6, y.at(end.y.value))} ${point(right + 14, height)}"/><text class="label" x="${round(right + 18)}" y="${round(height + 4)}">${shown(curve)}</text></g>`;
  });
  const clip = `<clipPath id="${id}-clip"><rect x="${LEFT}" y="${TOP - 4}" width="${round(right - LEFT + 4)}" height="${BOTTOM - TOP + 4}"/></clipPath>`;
  const description = `${curves.map((curve, index) => `${curve.label} ends at ${decimal(ends[index]?.y.value ?? 0, 3)} after ${formatCompact(ends[index]?.x ?? 0)} ${words.unit}`).join('; ')}.`;
  return picture(
    id,
    name,
    description,
    clip +
      axes(x, y, right, {
        ...words,
        tickX: (tick) => formatCompact(tick, true),
        tickY: (tick) => decimal(tick, digits),
      }) +
      drawn.join('') +
      labels.join(''),
  );
}

/** Draws the known intervals, as one shape for each stretch of neighboring points. */
function band(points: Curve['points'], x: Axis, y: Axis): string {
  const stretches: { readonly x: number; readonly low: number; readonly high: number }[][] = [[]];
  for (const {
    x: along,
    y: { low, high },
  } of points) {
    if (low === null || high === null) {
      stretches.push([]);
    } else {
      stretches.at(-1)?.push({ x: x.at(along), low: y.at(low), high: y.at(high) });
    }
  }
  return stretches
    .map((stretch) => {
      const [only] = stretch;
      if (only === undefined) {
        return '';
      }
      if (stretch.length === 1) {
        return `<path class="bar" d="M${point(only.x, only.low)}L${point(only.x, only.high)}"/>`;
      }
      const outline = [
        ...stretch.map((each) => point(each.x, each.high)),
        ...stretch.map((each) => point(each.x, each.low)).reverse(),
      ];
      return `<path class="band" d="M${outline.join('L')}z"/>`;
    })
    .join('');
}

function line(points: Curve['points'], place: number, x: Axis, y: Axis): string {
  const at = points.map((each) => point(x.at(each.x), y.at(each.y.value)));
  if (at.length === 1) {
    return `<path class="mark" transform="translate(${at[0] ?? '0 0'})" d="${MARKERS[place % MARKERS.length] ?? ''}"/>`;
  }
  // After the last color, colors repeat with other dashes.
  const dash = DASHES[(place + Math.floor(place / COLOURS)) % DASHES.length] ?? '';
  return `<path class="line"${dash === '' ? '' : ` stroke-dasharray="${dash}"`} d="M${at.join('L')}"/>`;
}
