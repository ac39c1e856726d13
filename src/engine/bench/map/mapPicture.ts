/** The picture of the map: the difference of the methods over rho, a line for each team size. Pure: text out. */
import type { Interval } from '../../../domain/credit.ts';
import { axes, axis, BOTTOM, LEFT, picture, point, range, round, TOP, WIDTH, type Axis } from '../../../report/axis.ts';
import { apart, COLOURS, MARKERS, textWidth } from '../../../report/curves.ts';
import { decimal, escaped, percentage } from '../../../report/words.ts';
import type { MapCell } from './mapTable.ts';

/** Values that mark a logarithmic axis. */
const MARKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
/** So far apart are the bars of two team sizes at one rho. */
const DODGE = 5;

/** What the team of a size is called. */
export const teamWords = (roles: number): string => `${roles} roles`;

interface Mark {
  readonly left: number;
  readonly y: Interval;
}

/**
 * @param id unlike that of every other picture of the page
 * @returns null where no difference is measured
 */
export function mapPicture(id: string, name: string, cells: readonly MapCell[]): string | null {
  const measured = cells.flatMap(({ difference, rho, roles }) =>
    difference === null || !(rho.value > 0) ? [] : [{ difference, rho: rho.value, roles }],
  );
  if (measured.length === 0) {
    return null;
  }
  const sizes = [...new Set(measured.map(({ roles }) => roles))].sort((a, b) => a - b);
  const right = WIDTH - 12 - Math.max(...sizes.map((roles) => textWidth(teamWords(roles))));
  const x = logarithmic(
    measured.map(({ rho }) => rho),
    LEFT + 12,
    right - 12,
  );
  const [low, high] = range([
    ...measured.map(({ difference }) => difference),
    { value: 0, low: null, high: null, n: 0 },
  ]);
  const y = axis(100 * low, 100 * high, BOTTOM, TOP);
  const rows = sizes.map((roles, index) => {
    const marks = measured
      .filter((one) => one.roles === roles)
      .toSorted((a, b) => a.rho - b.rho)
      .map(({ rho, difference }): Mark => ({
        left: x.at(rho) + DODGE * (index - (sizes.length - 1) / 2),
        y: difference,
      }));
    return { roles, index, marks };
  });
  const labels = apart(
    rows.map(({ marks }) => y.at(100 * (marks.at(-1)?.y.value ?? 0))),
    TOP,
    BOTTOM,
  );
  const drawn = rows.map(({ roles, index, marks }) => {
    const line = marks.map(({ left, y: { value } }) => point(left, y.at(100 * value))).join('L');
    const bars = marks.map(({ left, y: { low: from, high: to } }) =>
      from === null || to === null
        ? ''
        : `<path class="bar" d="M${point(left, within(y.at(100 * to)))}V${round(within(y.at(100 * from)))}"/>`,
    );
    const markers = marks.map(
      ({ left, y: { value } }) =>
        `<path class="mark" transform="translate(${point(left, y.at(100 * value))})" d="${MARKERS[index % MARKERS.length] ?? ''}"/>`,
    );
    return `<g class="m${index % COLOURS}">${marks.length > 1 ? `<path class="line" d="M${line}"/>` : ''}${bars.join('')}${markers.join('')}<text class="label" x="${round(right + 8)}" y="${round((labels[index] ?? 0) + 4)}">${escaped(teamWords(roles), 24)}</text></g>`;
  });
  const description = rows
    .map(
      ({ roles, marks }) =>
        `${teamWords(roles)}: ${marks.map(({ y: { value } }) => `${percentage(value)} points`).join(', ')}`,
    )
    .join('; ');
  const zero = `<path class="axis" d="M${point(LEFT, y.at(0))}H${round(right)}"/>`;
  return picture(
    id,
    name,
    `In the order of rho. ${description}.`,
    `${axes(x, y, right, {
      x: 'rho, measured on the untrained team',
      y: 'C3 less MAGRPO, points of the possible gain',
      tickX: (tick) => decimal(tick, tick < 1 ? 1 : 0),
      tickY: (tick) => decimal(tick, 0),
    })}${zero}${drawn.join('')}`,
  );
}

/** An end of a bar, no farther than the picture goes. */
const within = (height: number): number => Math.min(BOTTOM, Math.max(TOP - 4, height));

/** An axis on which a factor is a distance. */
function logarithmic(values: readonly number[], from: number, to: number): Axis {
  const [first, last] = [Math.min(...values), Math.max(...values)];
  const span = Math.log(last / first);
  const at = (value: number): number =>
    span === 0 ? (from + to) / 2 : from + (Math.log(value / first) / span) * (to - from);
  return { ticks: MARKS.filter((mark) => at(mark) >= from - 10 && at(mark) <= to + 10), at };
}
