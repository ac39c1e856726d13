/** Points against the line on which both axes are equal, as an SVG picture. Pure: numbers in, text out. */
import { axes, axis, BOTTOM, LEFT, picture, point, TOP, tickDigits, WIDTH } from './axis.ts';
import { MARKERS } from './curves.ts';
import { decimal } from './words.ts';

export interface ScatterPoint {
  readonly x: number;
  readonly y: number;
  /** Which marker and colour. */
  readonly place: number;
}

/**
 * @param id unlike that of every other picture of the page
 * @param description for those who cannot see it
 * @returns null without a point
 */
export function scatterPicture(
  id: string,
  name: string,
  points: readonly ScatterPoint[],
  words: { readonly x: string; readonly y: string; readonly description: string },
): string | null {
  const shown = points.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  if (shown.length === 0) {
    return null;
  }
  const right = WIDTH - 24;
  const [xs, ys] = [shown.map(({ x }) => x), shown.map(({ y }) => y)];
  const x = axis(Math.min(0, ...xs), Math.max(0, ...xs), LEFT, right);
  const y = axis(Math.min(0, ...ys), Math.max(0, ...ys), BOTTOM, TOP);
  const [low, high] = [Math.max(x.ticks[0] ?? 0, y.ticks[0] ?? 0), Math.min(x.ticks.at(-1) ?? 0, y.ticks.at(-1) ?? 0)];
  const equal =
    high > low ? `<path class="axis" d="M${point(x.at(low), y.at(low))}L${point(x.at(high), y.at(high))}"/>` : '';
  const drawn = shown.map(
    (one) =>
      `<g class="m${one.place}"><path class="mark" transform="translate(${point(x.at(one.x), y.at(one.y))})" d="${MARKERS[one.place % MARKERS.length] ?? ''}"/></g>`,
  );
  const [digitsX, digitsY] = [tickDigits(x), tickDigits(y)];
  return picture(
    id,
    name,
    words.description,
    axes(x, y, right, {
      x: words.x,
      y: words.y,
      tickX: (tick) => decimal(tick, digitsX),
      tickY: (tick) => decimal(tick, digitsY),
    }) +
      equal +
      drawn.join(''),
  );
}
