/**
 * Draws bars from 0 to a value, to either side, with the interval across, one row for each. A bar
 * whose interval contains 0 is faded. Pure: numbers in, SVG text out.
 */

import type { Interval } from '../domain/credit.ts';
import { isSignOpen } from '../shared/credit/headline.ts';
import { axis, picture, point, round, tickDigits, WIDTH } from './axis.ts';
import { decimal, escapeText, NOT_MEASURED } from './words.ts';

export interface BarRow {
  /** Untrusted text. */
  readonly label: string;
  /** Null if it was not measured. */
  readonly value: Interval | null;
}

const LABEL = 26;
/** The horizontal bounds of the bars, and the height of a row. */
const LEFT = 196;
const RIGHT = WIDTH - 68;
const ROW = 24;
const HEAD = 6;

/**
 * Returns the picture, or null if no row has a value.
 * @param id unique among the pictures of the page
 * @param write returns the text of a value, beside its bar and in the description
 * @param words the name of the axis
 */
export function barsPicture(
  id: string,
  name: string,
  rows: readonly BarRow[],
  write: (value: number) => string,
  words: string,
): string | null {
  const measured = rows.map(({ label, value }) => ({
    label,
    value: value !== null && [value.value, value.low ?? 0, value.high ?? 0].every(Number.isFinite) ? value : null,
  }));
  const values = measured.flatMap(({ value }) =>
    value === null ? [] : [value.value, value.low ?? value.value, value.high ?? value.value],
  );
  if (values.length === 0) {
    return null;
  }
  const x = axis(Math.min(0, ...values), Math.max(0, ...values), LEFT, RIGHT);
  const bottom = HEAD + ROW * rows.length;
  const digits = tickDigits(x);
  const grid = x.ticks.map(
    (tick) =>
      `<path class="grid" d="M${point(x.at(tick), HEAD)}V${round(bottom)}"/><text class="tick" x="${round(x.at(tick))}" y="${round(bottom + 16)}" text-anchor="middle">${decimal(tick, digits)}</text>`,
  );
  const drawn = measured.map(({ label, value }, index) => {
    const middle = HEAD + ROW * (index + 0.5);
    const text = `<text class="row" x="${LEFT - 8}" y="${round(middle + 4)}" text-anchor="end">${escapeText(label, LABEL)}</text>`;
    if (value === null) {
      return `${text}<text class="tick" x="${round(x.at(0) + 6)}" y="${round(middle + 4)}">${NOT_MEASURED}</text>`;
    }
    const [from, to] = [x.at(Math.min(0, value.value)), x.at(Math.max(0, value.value))];
    const { low, high } = value;
    const whiskers =
      low === null || high === null
        ? ''
        : `<path class="whisker" d="M${point(x.at(low), middle)}H${round(x.at(high))}M${point(x.at(low), middle - 4)}v8M${point(x.at(high), middle - 4)}v8"/>`;
    const bar = `<rect class="fill ${value.value < 0 ? 'below' : 'above'}${isSignOpen(value) ? ' open' : ''}" x="${round(from)}" y="${round(middle - 6)}" width="${round(Math.max(1, to - from))}" height="12"/>`;
    return `${text}${bar}${whiskers}<text class="value" x="${WIDTH - 2}" y="${round(middle + 4)}" text-anchor="end">${write(value.value)}</text>`;
  });
  const zero = `<path class="axis" d="M${point(x.at(0), HEAD)}V${round(bottom)}"/>`;
  const title = `<text class="name" x="${round((LEFT + RIGHT) / 2)}" y="${round(bottom + 32)}" text-anchor="middle">${escapeText(words, 80)}</text>`;
  const description = `${measured.map(({ label, value }) => `${label.slice(0, LABEL)}: ${value === null ? NOT_MEASURED : write(value.value)}`).join('; ')}.`;
  return picture(id, name, description, `${grid.join('')}${zero}${drawn.join('')}${title}`, bottom + 40);
}

/** CSS rules for a page with such a picture. */
export const BARS_STYLE = `
.picture .row { font-size: 11.5px; }
.picture .value { font-size: 11.5px; font-variant-numeric: tabular-nums; }
.fill { fill-opacity: 0.6; }
.fill.open { fill-opacity: 0.2; }
.fill.above { fill: var(--c0); }
.fill.below { fill: var(--c1); }
.whisker { fill: none; stroke: var(--text); stroke-width: 1.4; }
`;
