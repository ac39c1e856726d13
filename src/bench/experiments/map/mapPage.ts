/** The page of `c3 bench rho-map`: one HTML file without scripts or external resources. Pure. */

import { mean } from '../../../credit/describe.ts';
import type { Interval } from '../../../domain/credit.ts';
import {
  axes,
  axis,
  BOTTOM,
  LEFT,
  picture,
  point,
  findYRange,
  round,
  TOP,
  WIDTH,
  type Axis,
} from '../../../report/axis.ts';
import { spreadLabels, COLOURS, MARKERS, textWidth } from '../../../report/curves.ts';
import { formatBounds, facts, figure, formatTime, writePage, table } from '../../../report/page.ts';
import { decimal, escapeText, NOT_MEASURED, percentage, signed } from '../../../report/words.ts';
import { findLevelRule } from '../../../tasks/dealer/dealer.ts';
import {
  computeGain,
  makeMapCells,
  fitMapTrends,
  judgeMapDifference,
  type MapCell,
  type MapPilot,
  type MapPlace,
  type MapRun,
  type MapTrend,
  type MapVerdict,
} from './mapTable.ts';
import type { MapVariance } from './mapVariance.ts';

export interface MapReport {
  /** The command line that made the report. */
  readonly command: string;
  readonly hardware: string;
  /** The numeric environment: versions, provider, threads. */
  readonly environment: string;
  /** ISO 8601. */
  readonly finishedAt: string;
  readonly quick: boolean;
  readonly settings: Readonly<Record<string, string>>;
  /** Runs that chose the learning rates. */
  readonly search: readonly MapRun[];
  readonly pilots: readonly MapPilot[];
  readonly variances: readonly MapVariance[];
  readonly runs: readonly MapRun[];
}

const TITLE = 'Where credit by replay is ahead of trajectory credit';
const GAMES = {
  luck: {
    title: 'The dealer has luck',
    words: 'The pile decides by luck, which nobody can learn; of the dealer, only a small part can be learned.',
  },
  dial: {
    title: 'The dealer has luck and does not learn',
    words:
      'The same with policies: {dealer: {learns: false}}: only the players learn. Of the possible gain the dealer\u2019s part cannot be had, by either method.',
  },
  skill: { title: 'The dealer can learn', words: 'All that the pile decides can be learned by the dealer.' },
} as const;
type Game = keyof typeof GAMES;

const signedPercent = (value: number): string => signed(100 * value, 1);
const one = (value: number): string => decimal(value, 2);

export function formatMapPage(report: MapReport): string {
  const about: [string, string][] = [
    ['Hardware', escapeText(report.hardware, 400)],
    ['Environment', escapeText(report.environment, 400)],
    ['Finished', formatTime(report.finishedAt)],
    ...Object.entries(report.settings).map(([name, value]): [string, string] => [
      escapeText(name, 80),
      escapeText(value, 400),
    ]),
  ];
  const games = (['luck', 'dial', 'skill'] as const).filter((game) =>
    report.pilots.some((place) => findGame(place) === game),
  );
  const content = `<header><h1>${TITLE}</h1>
${report.quick ? '<p class="quick"><strong>Quick run:</strong> fewer seeds and steps than the full map; intervals are wide.</p>' : ''}<p>The dealer task, in which a level sets how much of the variance of the return the first message decides (rho). C3 and MAGRPO make the same evaluator calls.</p>
<pre><code>${escapeText(report.command, 1000)}</code></pre>
${facts(about)}</header>
${games.map((game) => gameSection(game, report)).join('\n')}
${searchSection(report.search)}
${READING}`;
  return writePage(TITLE, content, STYLE, true);
}

const findGame = ({ level, learns }: MapPlace): Game => (learns ? findLevelRule(level).by : 'dial');

function gameSection(game: Game, report: MapReport): string {
  const pilots = report.pilots.filter((place) => findGame(place) === game);
  const cells = makeMapCells(pilots, report.runs);
  const { title, words } = GAMES[game];
  return `<section><h2>${title}</h2><p>${words}</p>
<h3>The map</h3>${mapGrid(cells)}
${figure('The same over rho', drawMapPicture(`map-${game}`, `C3 less MAGRPO over rho: ${title}`, cells), 'Bars: 95 % interval over seeds. Above 0 C3 is ahead.', '')}
<h3>The trend over rho</h3>${trendTable(fitMapTrends(pilots, report.runs))}
${varianceSection(cells, report.variances)}<h3>Each cell</h3>${cellTable(cells)}</section>`;
}

const CLASSES: Readonly<Record<MapVerdict, string>> = {
  'C3 ahead': 'ahead',
  level: 'level',
  'MAGRPO ahead': 'behind',
  'not measured': 'none',
};

/** Returns a table with a row for each team size and a column for each level and its rho. */
function mapGrid(cells: readonly MapCell[]): string {
  const levels = [...new Set(cells.map(({ level }) => level))].sort((a, b) => a - b);
  const sizes = [...new Set(cells.map(({ roles }) => roles))].sort((a, b) => a - b);
  const lines = sizes.map((roles) => {
    const row = levels.map((level) => {
      const found = cells.find((cell) => cell.level === level && cell.roles === roles);
      const difference = found?.difference ?? null;
      if (found === undefined || difference === null) {
        return `<td class="none">${NOT_MEASURED}</td>`;
      }
      const { verdict, rho } = found;
      return `<td class="${CLASSES[verdict]}"><strong>${signedPercent(difference.value)}</strong> ${verdict}<small>${formatBounds(difference, signedPercent) ?? 'no interval'}, ${describeSeeds(difference.n)}</small><small>rho ${one(rho.value)}</small></td>`;
    });
    return `<tr><th scope="row">${describeTeamSize(roles)}</th>${row.join('')}</tr>`;
  });
  const head = ['team', ...levels.map((level) => `rho about ${findLevelRule(level).rho}`)];
  return `${table('The map', head, lines, 'map')}<p class="note">C3\u2019s share of the possible gain less MAGRPO\u2019s, in points, with its 95 % interval over seeds.</p>`;
}

const describeSeeds = (n: number): string => (n === 1 ? 'one seed' : `${n} seeds`);

function trendTable(trends: readonly MapTrend[]): string {
  const lines = trends.map(({ roles, slope }) => {
    const name = roles === null ? 'all together' : describeTeamSize(roles);
    return slope === null
      ? `<tr><th scope="row">${name}</th><td class="none">${NOT_MEASURED}</td><td></td><td></td></tr>`
      : `<tr><th scope="row">${name}</th><td>${signedPercent(slope.value)}</td><td>${formatBounds(slope, signedPercent) ?? 'no interval'}</td><td>${TREND[judgeMapDifference(slope)]}, ${describeSeeds(slope.n)}</td></tr>`;
  });
  return `${table('The trend over rho', ['team', 'points per doubling of rho', '95 % interval', 'verdict'], lines, 'narrow')}<p class="note">The claim is that C3 gains on MAGRPO as rho grows: a slope above 0. Least squares for each seed over all its levels, then Student\u2019s t over seeds.</p>`;
}

const TREND: Readonly<Record<MapVerdict, string>> = {
  'C3 ahead': 'held',
  'MAGRPO ahead': 'reversed',
  level: 'undecided',
  'not measured': NOT_MEASURED,
};

function cellTable(cells: readonly MapCell[]): string {
  const share = (interval: Interval | null): string =>
    interval === null
      ? `<td class="none">${NOT_MEASURED}</td>`
      : `<td>${percentage(interval.value)}<small>${formatBounds(interval, percentage) ?? describeSeeds(interval.n)}</small></td>`;
  const lines = cells.map(
    ({ roles, rho, ratios, gain }) =>
      `<tr><th scope="row">${describeTeamSize(roles)}</th><td>${one(rho.value)}<small>${formatBounds(rho, one) ?? 'no interval'}</small></td>${share(gain.c3)}${share(gain.magrpo)}<td>${ratios.map((ratio) => (ratio === null ? '\u2013' : one(ratio))).join(', ')}</td></tr>`,
  );
  const head = ['team', 'rho', 'C3, % of the gain', 'MAGRPO, % of the gain', 'predicted variance ratio by message'];
  return `${table('Each cell', head, lines, 'results')}<p class="note">Predicted: the variance of C3\u2019s gradient over MAGRPO\u2019s, for the messages in their order; below 1, C3\u2019s is the quieter one.</p>`;
}

/** Returns the predicted and the measured variance ratios of the player's gradient. */
function varianceSection(cells: readonly MapCell[], variances: readonly MapVariance[]): string {
  const lines = cells.flatMap(({ level, roles, learns, rho, ratios }) => {
    const found = variances.find((at) => at.level === level && at.roles === roles && at.learns === learns);
    return found === undefined
      ? []
      : [
          `<tr><th scope="row">${one(rho.value)}</th><td>${ratios[1] === null || ratios[1] === undefined ? NOT_MEASURED : decimal(ratios[1], 3)}</td><td>${decimal(found.ratio.value, 3)}</td><td>${formatBounds(found.ratio, (value) => decimal(value, 3)) ?? 'no interval'}</td><td>${found.ratio.n}</td></tr>`,
        ];
  });
  const head = ['rho', 'predicted', 'measured', '95 % interval', 'hands'];
  return lines.length === 0
    ? ''
    : `<h3>The variance of the gradient</h3>${table('The variance of the gradient', head, lines, 'narrow')}<p class="note">C3\u2019s over MAGRPO\u2019s, of the player of an untrained team of two. Predicted from rho and the fan-out; measured on the credits of sampled hands, between piles that score alike. Below 1, C3\u2019s gradient is the quieter one.</p>`;
}

function searchSection(search: readonly MapRun[]): string {
  if (search.length === 0) {
    return '';
  }
  const rates = [...new Set(search.map(({ rate }) => rate))].sort((a, b) => a - b);
  const lines = [...Map.groupBy(search, ({ level, method }) => `${level} ${method}`).values()].flatMap((runs) => {
    const [first] = runs;
    const cells = rates.map((rate) => {
      const gains = runs.flatMap((run) => (run.rate === rate ? (computeGain(run) ?? []) : []));
      return gains.length === 0
        ? '<td class="none"></td>'
        : `<td>${percentage(mean(gains))}<small>${describeSeeds(gains.length)}</small></td>`;
    });
    return first === undefined
      ? []
      : `<tr><th scope="row">rho about ${findLevelRule(first.level).rho}, ${first.method === 'c3' ? 'C3' : 'MAGRPO'}</th>${cells.join('')}</tr>`;
  });
  return `<section><h2>Search of the learning rate</h2>${table('Search of the learning rate', ['% of the gain, mean, at rate', ...rates.map(String)], lines, 'results')}<p class="note">The same rates for both methods, with a team of two whose dealer does not learn, on seeds outside the map. Each method has the best of its rho for all teams, also where the dealer learns.</p></section>`;
}

const READING = `<section class="reading"><h2>How to read this page</h2><dl>
<dt>Rho</dt><dd>The variance of the return due to the dealer\u2019s message over that due to all messages after it, measured on the untrained team by alternatives and replays, with Fieller\u2019s interval.</dd>
<dt>Share of the possible gain</dt><dd>Of what can be learned and the untrained team does not have right, the share that the trained team has right, on sampled held-out hands. The luck of a hand is left out.</dd>
<dt>Verdicts</dt><dd>Ahead: the whole interval of the difference lies on one side of 0. Level: it holds 0.</dd>
</dl></section>`;

const STYLE = `
.quick { padding: 4px 10px; border-left: 3px solid var(--text); background: var(--wash); }
.map td { text-align: left; }
.map .ahead { background: color-mix(in srgb, var(--c0) 22%, transparent); }
.map .behind { background: color-mix(in srgb, var(--c1) 22%, transparent); }
.narrow { width: auto; min-width: 50%; }
`;

// The picture of the map.

/** Tick values of a logarithmic axis. */
const MARKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
/**
 * Horizontal distance between the bars of two team sizes at the same rho, in pixels of the picture.
 */
const DODGE = 5;

const describeTeamSize = (roles: number): string => `${roles} roles`;

interface Mark {
  readonly left: number;
  readonly y: Interval;
}

/**
 * Draws the difference of the methods over rho, with a line for each team size.
 * @param id unique on the page
 * @returns null if no difference is measured
 */
export function drawMapPicture(id: string, name: string, cells: readonly MapCell[]): string | null {
  const measured = cells.flatMap(({ difference, rho, roles }) =>
    difference === null || !(rho.value > 0) ? [] : [{ difference, rho: rho.value, roles }],
  );
  if (measured.length === 0) {
    return null;
  }
  const sizes = [...new Set(measured.map(({ roles }) => roles))].sort((a, b) => a - b);
  const right = WIDTH - 12 - Math.max(...sizes.map((roles) => textWidth(describeTeamSize(roles))));
  const x = makeLogarithmicAxis(
    measured.map(({ rho }) => rho),
    LEFT + 12,
    right - 12,
  );
  const [low, high] = findYRange([
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
  const labels = spreadLabels(
    rows.map(({ marks }) => y.at(100 * (marks.at(-1)?.y.value ?? 0))),
    TOP,
    BOTTOM,
  );
  const drawn = rows.map(({ roles, index, marks }) => {
    const line = marks.map(({ left, y: { value } }) => point(left, y.at(100 * value))).join('L');
    const bars = marks.map(({ left, y: { low: from, high: to } }) =>
      from === null || to === null
        ? ''
        : `<path class="bar" d="M${point(left, clampToPicture(y.at(100 * to)))}V${round(clampToPicture(y.at(100 * from)))}"/>`,
    );
    const markers = marks.map(
      ({ left, y: { value } }) =>
        `<path class="mark" transform="translate(${point(left, y.at(100 * value))})" d="${MARKERS[index % MARKERS.length] ?? ''}"/>`,
    );
    return `<g class="m${index % COLOURS}">${marks.length > 1 ? `<path class="line" d="M${line}"/>` : ''}${bars.join('')}${markers.join('')}<text class="label" x="${round(right + 8)}" y="${round((labels[index] ?? 0) + 4)}">${escapeText(describeTeamSize(roles), 24)}</text></g>`;
  });
  const description = rows
    .map(
      ({ roles, marks }) =>
        `${describeTeamSize(roles)}: ${marks.map(({ y: { value } }) => `${percentage(value)} points`).join(', ')}`,
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

/** Limits an end of a bar to the picture. */
const clampToPicture = (height: number): number => Math.min(BOTTOM, Math.max(TOP - 4, height));

/** Returns a logarithmic axis. */
function makeLogarithmicAxis(values: readonly number[], from: number, to: number): Axis {
  const [first, last] = [Math.min(...values), Math.max(...values)];
  const span = Math.log(last / first);
  const at = (value: number): number =>
    span === 0 ? (from + to) / 2 : from + (Math.log(value / first) / span) * (to - from);
  return { ticks: MARKS.filter((mark) => at(mark) >= from - 10 && at(mark) <= to + 10), at };
}
