/** The pictures of the paper table as SVG text, and how its page writes numbers and foreign text. Pure: numbers in, text out; no NaN gets into a coordinate. */
import type { Interval } from '../../shared/records.ts';
import { oneLine } from '../words.ts';

export const NOT_MEASURED = 'not measured';

/** Foreign text as HTML or SVG text: one line, control characters shown, bounded, nothing left that is markup or ends an attribute. */
export function escaped(text: string, limit = 200): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return oneLine(text, limit).toWellFormed().replaceAll(/[&<>"']/gu, (character) => entities[character] ?? '');
}

/** A decimal with a true minus; what the digits would make 0 is written with an exponent. */
export function decimal(value: number, digits: number): string {
  const vanishes = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
  return (vanishes ? value.toExponential(1) : value.toFixed(digits)).replaceAll('-', '\u2212');
}

/** A share in percent, without the sign: `54.5`. */
export const percentage = (share: number): string => {
  const text = (100 * share).toFixed(1);
  return text === '-0.0' ? '0.0' : text.replace('-', '\u2212');
};

/** A number of tokens or calls in three digits: `830`, `12.3k`, `1.20M`. @param bare leaves out zeros that end it: `1.2M` */
export function compact(value: number, bare = false): string {
  const size = Math.abs(value);
  const [divisor, unit] = size >= 999_500 ? [1e6, 'M'] : size >= 999.5 ? [1e3, 'k'] : [1, ''];
  const scaled = value / divisor;
  const digits = unit === '' ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.max(1, Math.abs(Number(scaled.toPrecision(3)))))));
  return `${scaled.toLocaleString('en-US', { minimumFractionDigits: bare ? 0 : digits, maximumFractionDigits: digits })}${unit}`.replace(/^-0$/u, '0').replace('-', '\u2212');
}

/**
 * Round numbers that reach from at or below `low` to at or above `high`: multiples of 1, 2 or 5 times a power of ten.
 * @param most about so many steps at most; bounds that are equal are widened
 */
export function ticks(low: number, high: number, most = 5): readonly number[] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!(high - low > 1e-9 * size)) return ticks(low - (0.1 * size || 0.5), low + (0.1 * size || 0.5), most);
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = power * ([1, 2, 5].find((factor) => factor * power * most >= (high - low) * (1 - 1e-9)) ?? 10);
  const first = Math.floor(low / step + 1e-6);
  const last = Math.ceil(high / step - 1e-6);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** How a method looks in every picture. */
export interface Look {
  readonly label: string;
  /** Its place among all methods: colour, dashes and marker follow from it. */
  readonly place: number;
}

export interface Curve extends Look {
  readonly points: readonly { readonly x: number; readonly y: Interval }[];
}

export interface CostPoint extends Look {
  /** Tokens. */
  readonly x: number;
  /** A share. */
  readonly y: Interval;
}

/** How many colours the page's style has: classes m0, m1, ... */
export const COLOURS = 8;
const DASHES = ['', '7 4', '2 3', '10 3 2 3', '12 5', '5 2 1 2 1 2', '1 5', '4 2'] as const;
/** Outlines within 5 units of the origin. */
const MARKERS = ['M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z', 'M-4-4h8v8h-8z', 'M0-5 4.8 3.8h-9.6z', 'M0-5.5 5.5 0 0 5.5-5.5 0z', 'M0 5 4.8-3.8h-9.6z', 'M-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z', 'M0-5 4.8-1.5 2.9 4h-5.8l-1.9-5.5z', 'M-4.5-4.5 4.5 4.5v-9l-9 9z'] as const;

const WIDTH = 560;
const HEIGHT = 330;
const TOP = 30;
const BOTTOM = HEIGHT - 42;
const LEFT = 46;
/** A line of text, and about what a character of it takes. */
const LINE = 14;
const textWidth = (text: string): number => Array.from(text).reduce((sum, character) => sum + ((character.codePointAt(0) ?? 0) > 0x1100 ? 12 : 7.2), 0);
const LONGEST_LABEL = 24;
/** So far past the last marker, for its label. */
const ROOM = 1.16;
/** What is larger, below 0 along x, or no number is not drawn. */
const LARGEST = 1e100;

interface Axis {
  readonly ticks: readonly number[];
  /** From a value to its coordinate. */
  readonly at: (value: number) => number;
}

/** From one round number to another around these values. */
function axis(low: number, high: number, from: number, to: number): Axis {
  const marks = ticks(low, high);
  const [first, last] = [marks[0] ?? 0, marks.at(-1) ?? 1];
  return { ticks: marks, at: (value) => from + ((value - first) / (last - first)) * (to - from) };
}

/** From 0 to the largest of these amounts, with the round numbers between. */
function amounts(values: readonly number[], from: number, to: number): Axis {
  const largest = Math.max(...values);
  const end = largest > 0 ? largest : 1;
  return { ticks: ticks(0, end).filter((mark) => mark <= end), at: (value) => from + (value / end) * (to - from) };
}

/**
 * What the y axis has to show: all values, and of their intervals what goes no farther beyond them than they reach themselves, so that two
 * seeds' wide intervals do not flatten the picture. Shares stay between 0 and 1.
 */
function range(values: readonly Interval[]): readonly [low: number, high: number] {
  const middle = values.map(({ value }) => value);
  const [lowest, highest] = [Math.min(...middle), Math.max(...middle)];
  const reach = Math.max(highest - lowest, 0.05);
  const low = Math.max(Math.min(...values.map((each) => each.low ?? each.value)), lowest - reach);
  const high = Math.min(Math.max(...values.map((each) => each.high ?? each.value)), highest + reach);
  return lowest >= 0 && highest <= 1 ? [Math.max(0, low), Math.min(1, high)] : [low, high];
}

const finite = ({ x, y }: { readonly x: number; readonly y: Interval }): boolean => [x, y.value, y.low ?? 0, y.high ?? 0].every((value) => Math.abs(value) < LARGEST) && x >= 0;
const round = (value: number): string => String(Number(value.toFixed(1)));
const point = (x: number, y: number): string => `${round(x)} ${round(y)}`;
const shown = ({ label }: Look): string => escaped(label, LONGEST_LABEL);

/** A whole picture: its name and description for those who cannot see it, the axes, and what is drawn between them. */
function picture(id: string, name: string, description: string, content: string): string {
  return `<svg class="picture" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-name ${id}-words"><title id="${id}-name">${escaped(name)}</title><desc id="${id}-words">${escaped(description, 2000)}</desc>${content}</svg>`;
}

function axes(x: Axis, y: Axis, right: number, words: { readonly x: string; readonly y: string; readonly tickX: (value: number) => string; readonly tickY: (value: number) => string }): string {
  const across = y.ticks.map((tick) => `<path class="grid" d="M${point(LEFT, y.at(tick))}H${round(right)}"/><text class="tick" x="${LEFT - 7}" y="${round(y.at(tick) + 4)}" text-anchor="end">${words.tickY(tick)}</text>`);
  const along = x.ticks.map((tick) => `<path class="axis" d="M${point(x.at(tick), BOTTOM)}v4"/><text class="tick" x="${round(x.at(tick))}" y="${BOTTOM + 17}" text-anchor="middle">${words.tickX(tick)}</text>`);
  const names = `<text class="name" x="4" y="14">${words.y}</text><text class="name" x="${round((LEFT + right) / 2)}" y="${HEIGHT - 6}" text-anchor="middle">${words.x}</text>`;
  return `${across.join('')}<path class="axis" d="M${LEFT} ${BOTTOM}H${round(right)}"/>${along.join('')}${names}`;
}

/** As many digits as tell neighbouring ticks apart. */
function tickDigits({ ticks: marks }: Axis): number {
  const step = Math.abs((marks[1] ?? 1) - (marks[0] ?? 0));
  return Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

/**
 * Places for labels that want these heights: in their order, a line apart, as near as that allows (the least squares, found by pooling those
 * that are too close), between the bounds as far as there is room.
 */
export function apart(wanted: readonly number[], low: number, high: number, gap = LINE): readonly number[] {
  const order = wanted.map((height, index) => ({ height, index })).sort((a, b) => a.height - b.height);
  const pools: { sum: number; readonly members: number[] }[] = [];
  for (const [rank, { height, index }] of order.entries()) {
    let pool = { sum: height - rank * gap, members: [index] };
    for (let before = pools.at(-1); before !== undefined && before.sum / before.members.length >= pool.sum / pool.members.length; before = pools.at(-1)) {
      pools.pop();
      pool = { sum: before.sum + pool.sum, members: [...before.members, ...pool.members] };
    }
    pools.push(pool);
  }
  const places = wanted.map(() => 0);
  const lowest = Math.max(low, high - gap * (wanted.length - 1));
  let rank = 0;
  for (const { sum, members } of pools) for (const index of members) places[index] = Math.max(low, Math.min(lowest, sum / members.length)) + gap * rank++;
  return places;
}

/**
 * Mean returns against evaluator calls: a line for each method, its interval as a band, its name where it ends.
 * @param id unlike that of every other picture of the page
 * @returns null where no method has a point
 */
export function curvePicture(id: string, name: string, all: readonly Curve[]): string | null {
  const curves = all.map((curve) => ({ ...curve, points: curve.points.filter(finite).toSorted((a, b) => a.x - b.x) })).filter(({ points }) => points.length > 0);
  if (curves.length === 0) return null;
  const right = WIDTH - 24 - Math.max(...curves.map((curve) => textWidth(curve.label.slice(0, LONGEST_LABEL))));
  const x = amounts(curves.flatMap(({ points }) => points.map((each) => each.x)), LEFT, right);
  const y = axis(...range(curves.flatMap(({ points }) => points.map((each) => each.y))), BOTTOM, TOP);
  const ends = curves.map(({ points }) => points.at(-1) ?? { x: 0, y: { value: 0, low: null, high: null, n: 0 } });
  const places = apart(ends.map((end) => y.at(end.y.value)), TOP, BOTTOM - 4);
  const digits = tickDigits(y);
  const drawn = curves.map(({ place, points }) => `<g class="m${place % COLOURS}" clip-path="url(#${id}-clip)">${band(points, x, y)}${line(points, place, x, y)}</g>`);
  const labels = curves.map((curve, index) => {
    const end = ends[index] ?? { x: 0, y: { value: 0 } };
    const height = places[index] ?? 0;
    return `<g class="m${curve.place % COLOURS}"><path class="leader" d="M${point(x.at(end.x) + 3, y.at(end.y.value))}L${point(right + 6, y.at(end.y.value))} ${point(right + 14, height)}"/><text class="label" x="${round(right + 18)}" y="${round(height + 4)}">${shown(curve)}</text></g>`;
  });
  const clip = `<clipPath id="${id}-clip"><rect x="${LEFT}" y="${TOP - 4}" width="${round(right - LEFT + 4)}" height="${BOTTOM - TOP + 4}"/></clipPath>`;
  const description = `${curves.map((curve, index) => `${curve.label} ends at ${decimal(ends[index]?.y.value ?? 0, 3)} after ${compact(ends[index]?.x ?? 0)} evaluator calls`).join('; ')}.`;
  return picture(id, name, description, clip + axes(x, y, right, { x: 'evaluator calls of training', y: 'mean return of the training episodes', tickX: (tick) => compact(tick, true), tickY: (tick) => decimal(tick, digits) }) + drawn.join('') + labels.join(''));
}

/** The intervals that are known, as one shape for each stretch of neighbouring points. */
function band(points: Curve['points'], x: Axis, y: Axis): string {
  const stretches: { readonly x: number; readonly low: number; readonly high: number }[][] = [[]];
  for (const { x: along, y: { low, high } } of points) {
    if (low === null || high === null) stretches.push([]);
    else stretches.at(-1)?.push({ x: x.at(along), low: y.at(low), high: y.at(high) });
  }
  return stretches.map((stretch) => {
    const [only] = stretch;
    if (only === undefined) return '';
    if (stretch.length === 1) return `<path class="bar" d="M${point(only.x, only.low)}L${point(only.x, only.high)}"/>`;
    const outline = [...stretch.map((each) => point(each.x, each.high)), ...stretch.map((each) => point(each.x, each.low)).reverse()];
    return `<path class="band" d="M${outline.join('L')}z"/>`;
  }).join('');
}

function line(points: Curve['points'], place: number, x: Axis, y: Axis): string {
  const at = points.map((each) => point(x.at(each.x), y.at(each.y.value)));
  if (at.length === 1) return `<path class="mark" transform="translate(${at[0] ?? '0 0'})" d="${MARKERS[place % MARKERS.length] ?? ''}"/>`;
  // Past the last colour, colours come again with other dashes.
  const dash = DASHES[(place + Math.floor(place / COLOURS)) % DASHES.length] ?? '';
  return `<path class="line"${dash === '' ? '' : ` stroke-dasharray="${dash}"`} d="M${at.join('L')}"/>`;
}

/** Whether no other point costs as little and reaches as high, one of them better; equal points stand together. */
export function onFront<T extends CostPoint>(one: T, all: readonly T[]): boolean {
  return !all.some((other) => other.x <= one.x && other.y.value >= one.y.value && (other.x < one.x || other.y.value > one.y.value));
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const overlap = (a: Box, b: Box): number =>
  Math.max(0, Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left)) * Math.max(0, Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top));

/**
 * Accuracy against tokens: a marker with its interval and its name for each method, and the Pareto front: what so many tokens reach at best.
 * @returns null where no method has both
 */
export function paretoPicture(id: string, name: string, all: readonly CostPoint[]): string | null {
  const points = all.filter(finite);
  if (points.length === 0) return null;
  const right = WIDTH - 16;
  const x = amounts(points.map((each) => ROOM * each.x), LEFT, right);
  const [low, high] = range(points.map((each) => each.y));
  const y = axis(100 * low, 100 * high, BOTTOM, TOP);
  const front = points.filter((each) => onFront(each, points)).toSorted((a, b) => a.x - b.x);
  const at = points.map((each) => ({ ...each, left: x.at(each.x), top: y.at(100 * each.y.value), bar: barOf(each.y, y) }));
  const labels = labelsBeside(at, right, stepsOf(front, x, y, right));
  const drawn = at.map(({ place, left, top, bar, ...each }, index) => {
    const whiskers = bar === null ? '' : `<path class="bar" d="M${point(left, bar.top)}V${round(bar.bottom)}${bar.ends.map((end) => `M${point(left - 3, end)}h6`).join('')}"/>`;
    const label = labels[index] ?? { left, top };
    return `<g class="m${place % COLOURS}">${whiskers}<path class="mark${onFront({ place, ...each }, points) ? '' : ' hollow'}" transform="translate(${point(left, top)})" d="${MARKERS[place % MARKERS.length] ?? ''}"/><text class="label" x="${round(label.left < left ? left - 9 : label.left)}" y="${round(label.top + 11)}"${label.left < left ? ' text-anchor="end"' : ''}>${shown({ place, ...each })}</text></g>`;
  });
  const steps = front.map((each, index) => `${index === 0 ? 'M' : 'H'}${index === 0 ? point(x.at(each.x), y.at(100 * each.y.value)) : `${round(x.at(each.x))}V${round(y.at(100 * each.y.value))}`}`).join('');
  const description = `${points.map((each) => `${each.label}: ${percentage(each.y.value)} % with ${compact(each.x)} tokens`).join('; ')}. On the Pareto front: ${front.map(({ label }) => label).join(', ')}.`;
  const digits = tickDigits(y);
  return picture(id, name, description, `${axes(x, y, right, { x: 'tokens of training', y: 'greedy accuracy, %', tickX: (tick) => compact(tick, true), tickY: (tick) => decimal(tick, digits) })}<path class="front" d="${steps}H${round(right)}"/>${drawn.join('')}`);
}

/** An error bar, no farther than the picture goes; ends that lie beyond it are none of its `ends`. */
function barOf({ low, high }: Interval, y: Axis): { readonly top: number; readonly bottom: number; readonly ends: readonly number[] } | null {
  if (low === null || high === null) return null;
  const ends = [y.at(100 * high), y.at(100 * low)];
  const [top = TOP, bottom = BOTTOM] = ends.map((end) => Math.min(BOTTOM, Math.max(TOP - 4, end)));
  return { top, bottom, ends: ends.filter((end) => end === top || end === bottom) };
}

/** The front's flat and upright parts, as thin boxes that labels keep clear of. */
function stepsOf(front: readonly CostPoint[], x: Axis, y: Axis, right: number): readonly Box[] {
  return front.flatMap((each, index) => {
    const [left, top] = [x.at(each.x), y.at(100 * each.y.value)];
    const next = front[index + 1];
    const end = next === undefined ? right : x.at(next.x);
    const above = next === undefined ? top : y.at(100 * next.y.value);
    return [{ left, top: top - 1, width: end - left, height: 2 }, { left: end - 1, top: above, width: 2, height: top - above }];
  });
}

/** Of the places around each point, the one that covers the least of what is there already; the first of equals. */
function labelsBeside(points: readonly (Look & { readonly left: number; readonly top: number; readonly bar: { readonly top: number; readonly bottom: number } | null })[], right: number, taken: readonly Box[]): readonly Box[] {
  const boxes: Box[] = [...taken];
  for (const { left, top, bar } of points) {
    boxes.push({ left: left - 6, top: top - 6, width: 12, height: 12 });
    if (bar !== null) boxes.push({ left: left - 3, top: bar.top, width: 6, height: bar.bottom - bar.top });
  }
  return points.map(({ label, left, top }) => {
    const width = textWidth(label.slice(0, LONGEST_LABEL));
    let best: Box = { left: left + 9, top: top - 7, width, height: LINE };
    let least = Infinity;
    for (const down of [0, -10, 10, -18, 18, -30, 30, -42, 42]) {
      for (const start of [left + 9, left - 9 - width]) {
        const box = { left: start, top: top - 7 + down, width, height: LINE };
        const outside = start < LEFT || start + width > right || box.top < TOP - 10 || box.top + LINE > BOTTOM ? 1e6 : 0;
        const cost = boxes.reduce((sum, other) => sum + overlap(box, other), outside);
        if (cost < least) [best, least] = [box, cost];
      }
    }
    boxes.push(best);
    return best;
  });
}
