/** Boxes of five numbers, one for each row: quartiles, median and extremes. Pure: numbers in, SVG text out. */
import type { Spread } from '../domain/stepRows.ts';
import { axis, picture, point, round, tickDigits, WIDTH } from './axis.ts';
import { decimal, escaped, NOT_MEASURED } from './words.ts';

export interface BoxRow {
  readonly label: string;
  /** Null where there is no value. */
  readonly spread: Spread | null;
  /** Which of two colors. */
  readonly place: 0 | 1;
}

const LEFT = 196;
const RIGHT = WIDTH - 68;
const ROW = 22;
const HEAD = 6;

/**
 * @param id unlike that of every other picture of the page
 * @param words what the axis is called
 * @returns null where no row has a value
 */
export function boxesPicture(id: string, name: string, rows: readonly BoxRow[], words: string): string | null {
  const values = rows.flatMap(({ spread }) => (spread === null ? [] : [spread.low, spread.high]));
  if (values.length === 0 || !values.every(Number.isFinite)) {
    return null;
  }
  const x = axis(Math.min(0, ...values), Math.max(0, ...values), LEFT, RIGHT);
  const bottom = HEAD + ROW * rows.length;
  const digits = tickDigits(x);
  const grid = x.ticks.map(
    (tick) =>
      `<path class="grid" d="M${point(x.at(tick), HEAD)}V${round(bottom)}"/><text class="tick" x="${round(x.at(tick))}" y="${round(bottom + 16)}" text-anchor="middle">${decimal(tick, digits)}</text>`,
  );
  const drawn = rows.map(({ label, spread, place }, index) => {
    const middle = HEAD + ROW * (index + 0.5);
    const text = `<text class="row" x="${LEFT - 8}" y="${round(middle + 4)}" text-anchor="end">${escaped(label, 30)}</text>`;
    if (spread === null) {
      return `${text}<text class="tick" x="${round(x.at(0) + 6)}" y="${round(middle + 4)}">${NOT_MEASURED}</text>`;
    }
    const [low, lower, mid, upper, high] = [spread.low, spread.lower, spread.middle, spread.upper, spread.high].map(
      x.at,
    );
    const [from = 0, to = 0] = [lower, upper];
    const whisker = `<path class="whisker" d="M${point(low ?? 0, middle)}H${round(from)}M${point(to, middle)}H${round(high ?? 0)}"/>`;
    const box = `<rect class="fill ${place === 0 ? 'above' : 'below'}" x="${round(from)}" y="${round(middle - 6)}" width="${round(Math.max(1, to - from))}" height="12"/>`;
    const median = `<path class="whisker" d="M${point(mid ?? 0, middle - 8)}v16"/>`;
    return `${text}${whisker}${box}${median}<text class="value" x="${WIDTH - 2}" y="${round(middle + 4)}" text-anchor="end">${decimal(spread.middle, 2)}</text>`;
  });
  const zero = `<path class="axis" d="M${point(x.at(0), HEAD)}V${round(bottom)}"/>`;
  const title = `<text class="name" x="${round((LEFT + RIGHT) / 2)}" y="${round(bottom + 32)}" text-anchor="middle">${escaped(words, 80)}</text>`;
  const description = `${rows.map(({ label, spread }) => `${label}: ${spread === null ? NOT_MEASURED : `median ${decimal(spread.middle, 2)}`}`).join('; ')}.`;
  return picture(id, name, description, `${grid.join('')}${zero}${drawn.join('')}${title}`, bottom + 40);
}
