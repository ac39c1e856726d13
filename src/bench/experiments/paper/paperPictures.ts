/**
 * The picture of accuracy against tokens of the paper table, as SVG text. Pure: numbers in, text
 * out. No coordinate is NaN.
 */

import type { Interval } from '../../../domain/credit.ts';
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
} from '../../../report/axis.ts';
import {
  COLOURS,
  isFinitePoint,
  LINE,
  LONGEST_LABEL,
  MARKERS,
  shown,
  textWidth,
  type Look,
} from '../../../report/curves.ts';
import { formatCompact, decimal, percentage } from '../../../report/words.ts';

export interface CostPoint extends Look {
  /** Tokens. */
  readonly x: number;
  /** A share. */
  readonly y: Interval;
}

/** Factor by which the axis extends past the last marker, for its label. */
const ROOM = 1.16;
/**
 * Returns true if no other point is at least as good in cost and accuracy and better in one of
 * them. Equal points are both on the front.
 */
export function isOnFront<T extends CostPoint>(one: T, all: readonly T[]): boolean {
  return !all.some(
    (other) => other.x <= one.x && other.y.value >= one.y.value && (other.x < one.x || other.y.value > one.y.value),
  );
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const overlap = (a: Box, b: Box): number =>
  Math.max(0, Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left)) *
  Math.max(0, Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top));

/**
 * Draws accuracy against tokens: a marker with an interval and a label for each method, and the
 * Pareto front.
 * @returns null if no method has both measures
 */
export function drawParetoPicture(id: string, name: string, all: readonly CostPoint[]): string | null {
  const points = all.filter(isFinitePoint);
  if (points.length === 0) {
    return null;
  }
  const right = WIDTH - 16;
  const x = makeAmountAxis(
    points.map((each) => ROOM * each.x),
    LEFT,
    right,
  );
  const [low, high] = findYRange(points.map((each) => each.y));
  const y = axis(100 * low, 100 * high, BOTTOM, TOP);
  const front = points.filter((each) => isOnFront(each, points)).toSorted((a, b) => a.x - b.x);
  const at = points.map((each) => ({
    ...each,
    left: x.at(each.x),
    top: y.at(100 * each.y.value),
    bar: makeErrorBar(each.y, y),
  }));
  const labels = placeLabels(at, right, boxFrontSteps(front, x, y, right));
  const drawn = at.map(({ place, left, top, bar, ...each }, index) => {
    const whiskers =
      bar === null
        ? ''
        : `<path class="bar" d="M${point(left, bar.top)}V${round(bar.bottom)}${bar.ends.map((end) => `M${point(left - 3, end)}h6`).join('')}"/>`;
    const label = labels[index] ?? { left, top };
    return `<g class="m${place % COLOURS}">${whiskers}<path class="mark${isOnFront({ place, ...each }, points) ? '' : ' hollow'}" transform="translate(${point(left, top)})" d="${MARKERS[place % MARKERS.length] ?? ''}"/><text class="label" x="${round(label.left < left ? left - 9 : label.left)}" y="${round(label.top + 11)}"${label.left < left ? ' text-anchor="end"' : ''}>${shown({ place, ...each })}</text></g>`;
  });
  const steps = front
    .map(
      (each, index) =>
        `${index === 0 ? 'M' : 'H'}${index === 0 ? point(x.at(each.x), y.at(100 * each.y.value)) : `${round(x.at(each.x))}V${round(y.at(100 * each.y.value))}`}`,
    )
    .join('');
  const description = `${points.map((each) => `${each.label}: ${percentage(each.y.value)} % with ${formatCompact(each.x)} tokens`).join('; ')}. On the Pareto front: ${front.map(({ label }) => label).join(', ')}.`;
  const digits = tickDigits(y);
  return picture(
    id,
    name,
    description,
    `${axes(x, y, right, { x: 'tokens of training', y: 'pass@1, %', tickX: (tick) => formatCompact(tick, true), tickY: (tick) => decimal(tick, digits) })}<path class="front" d="${steps}H${round(right)}"/>${drawn.join('')}`,
  );
}

/**
 * Returns an error bar, limited to the picture. Its `ends` are those that lie inside the picture.
 */
function makeErrorBar(
  { low, high }: Interval,
  y: Axis,
): { readonly top: number; readonly bottom: number; readonly ends: readonly number[] } | null {
  if (low === null || high === null) {
    return null;
  }
  const ends = [y.at(100 * high), y.at(100 * low)];
  const [top = TOP, bottom = BOTTOM] = ends.map((end) => Math.min(BOTTOM, Math.max(TOP - 4, end)));
  return { top, bottom, ends: ends.filter((end) => end === top || end === bottom) };
}

/** Returns the horizontal and vertical parts of the front as thin boxes that labels avoid. */
function boxFrontSteps(front: readonly CostPoint[], x: Axis, y: Axis, right: number): readonly Box[] {
  return front.flatMap((each, index) => {
    const [left, top] = [x.at(each.x), y.at(100 * each.y.value)];
    const next = front[index + 1];
    const end = next === undefined ? right : x.at(next.x);
    const above = next === undefined ? top : y.at(100 * next.y.value);
    return [
      { left, top: top - 1, width: end - left, height: 2 },
      { left: end - 1, top: above, width: 2, height: top - above },
    ];
  });
}

/** Places each label beside its point where it overlaps other boxes the least. */
function placeLabels(
  points: readonly (Look & {
    readonly left: number;
    readonly top: number;
    readonly bar: { readonly top: number; readonly bottom: number } | null;
  })[],
  right: number,
  taken: readonly Box[],
): readonly Box[] {
  const boxes: Box[] = [...taken];
  for (const { left, top, bar } of points) {
    boxes.push({ left: left - 6, top: top - 6, width: 12, height: 12 });
    if (bar !== null) {
      boxes.push({ left: left - 3, top: bar.top, width: 6, height: bar.bottom - bar.top });
    }
  }
  return points.map(({ label, left, top }) => {
    const width = textWidth(label.slice(0, LONGEST_LABEL));
    let best: Box = { left: left + 9, top: top - 7, width, height: LINE };
    let least = Infinity;
    for (const down of [0, -10, 10, -18, 18, -30, 30, -42, 42]) {
      for (const start of [left + 9, left - 9 - width]) {
        const box = { left: start, top: top - 7 + down, width, height: LINE };
        const outside =
          start < LEFT || start + width > right || box.top < TOP - 10 || box.top + LINE > BOTTOM ? 1e6 : 0;
        const cost = boxes.reduce((sum, other) => sum + overlap(box, other), outside);
        if (cost < least) {
          [best, least] = [box, cost];
        }
      }
    }
    boxes.push(best);
    return best;
  });
}
