/** Writes the part of a run's page about trust region and replaced policy. Pure. */

import { summarizeCertificates } from '../diagnostics/certified.ts';
import type { Interval } from '../domain/credit.ts';
import { shockRows, describeSwapShock, type SwapShock } from '../domain/run.ts';
import { formatRank, listShownRanks, type ShownRank, type StepMeasureName, type StepMetrics } from '../domain/step.ts';
import {
  listComparedSteps,
  buildKlHistogram,
  measureStability,
  listTurnKls,
  type RegionFacts,
} from '../domain/stepRows.ts';
import { axes, axis, BOTTOM, LEFT, picture, point, TOP, tickDigits, WIDTH } from './axis.ts';
import { barsPicture } from './bars.ts';
import { curvePicture, type Curve, MARKERS } from './curves.ts';
import { formatBounds, figure, row, table } from './page.ts';
import type { ReportedStep } from './types.ts';
import { count, decimal, escapeText, NOT_MEASURED, percentage } from './words.ts';

interface MeasuredStep {
  readonly step: number;
  readonly metrics: StepMetrics;
}

/** Returns an empty text if the run has neither a trust region nor a replaced policy. */
export function trustRegionSection(region: RegionFacts | undefined, steps: readonly ReportedStep[]): string {
  if (region === undefined) {
    return '';
  }
  const measured = steps.flatMap(({ step, metrics }): MeasuredStep[] => (metrics === null ? [] : [{ step, metrics }]));
  const shock = region.replacement?.shock ?? null;
  const figures = [
    ...(shock === null ? [] : [shockFigure(shock)]),
    ...(region.delta === null ? [] : regionFigures(region.delta, measured)),
  ].filter((one) => one !== '');
  return figures.length === 0
    ? ''
    : `<section><h2>Trust region</h2>${describeReplaced(region)}${describeStability(region, measured)}<div class="figures">${figures.join('')}</div></section>`;
}

function describeReplaced({ replacement }: RegionFacts): string {
  if (replacement === null) {
    return '';
  }
  const { role, run, by, kls, delta, probes } = replacement;
  const nats = (value: number): string => `${decimal(value, 4)} nats per message`;
  const first = kls[0] ?? 0;
  const how =
    delta === null
      ? `directly; the old policy is ${nats(first)} from it`
      : `after stage 0, which brought the KL from ${nats(first)} to ${nats(Math.min(...kls))} in ${count(kls.length - 1)} steps (delta ${delta})`;
  return (
    `<p>The policy of ${escapeText(role, 60)} in run <code>${escapeText(run, 80)}</code> was replaced by ` +
    `${escapeText(by, 200)}, ${how}, on ${count(probes)} probe contexts.</p>`
  );
}

function describeStability({ delta }: RegionFacts, steps: readonly MeasuredStep[]): string {
  const found = measureStability(steps.map(({ metrics }) => metrics.meanReturn));
  return delta === null || found === null
    ? ''
    : `<p>Stability: from one step to the next the mean return gains with a standard deviation of ${decimal(found, 3)}.</p>`;
}

const toBareInterval = (value: number): Interval => ({ value, low: null, high: null, n: 1 });

const regionFigures = (delta: number, steps: readonly MeasuredStep[]): string[] => [
  curvesFigure('gap', 'Stale gap by stage', steps, ['staleGap'], 'stale gap, in units of the return', {
    note: 'What the surrogates of all turns of a step miss on the episodes with which it began; one stage is one step.',
  }),
  curvesFigure('drift', 'Occupancy drift by stage', steps, ['occupancyDrift'], 'total variation, sum over turns', {
    note: 'How far the contexts of each turn are from those with which the step began. Where nothing has moved it is 0, so the baseline of the same policy is 0.',
  }),
  histogramFigure(delta, steps),
  ranksFigure(steps),
  certificateFigure(steps),
];

function curvesFigure(
  id: string,
  title: string,
  steps: readonly MeasuredStep[],
  names: readonly StepMeasureName[],
  words: string,
  { note }: { readonly note: string },
): string {
  const curves = names.map((name, place): Curve => ({
    label: '',
    place,
    points: steps.flatMap(({ step, metrics }) => {
      const value = metrics[name];
      return typeof value === 'number' ? [{ x: step, y: toBareInterval(value) }] : [];
    }),
  }));
  if (curves.every(({ points }) => points.length === 0)) {
    return '';
  }
  const rows = curves.flatMap(({ points }) =>
    points.map(({ x, y }) => `<tr><th scope="row">${count(x)}</th><td>${decimal(y.value, 5)}</td></tr>`),
  );
  return figure(
    title,
    curvePicture(id, title, curves, { x: 'step', y: words, unit: 'steps' }),
    note,
    table(`${title} in numbers`, ['step', 'value'], rows, 'numbers'),
  );
}

function histogramFigure(delta: number, steps: readonly MeasuredStep[]): string {
  const bins = buildKlHistogram(
    steps.flatMap(({ metrics }) => listTurnKls(metrics)),
    delta,
  );
  if (bins.length === 0) {
    return '';
  }
  const inside = (high: number): boolean => high <= delta * (1 + 1e-9);
  const rows = bins.map(({ low, high, count: turns }) => ({
    label: `${inside(high) ? '' : 'beyond: '}${decimal(low, 4)} to ${decimal(high, 4)}`,
    value: toBareInterval(turns),
  }));
  const shares = steps.flatMap(({ metrics }) => metrics.outOfRegion ?? []);
  const left = shares.length === 0 ? 0 : shares.reduce((sum, one) => sum + one, 0) / shares.length;
  const title = 'How far turns moved';
  return figure(
    title,
    barsPicture('kl-histogram', title, rows, (value) => count(value), 'turns'),
    `Turns by their KL in nats per message once they have gone back; the radius is ${delta}, the end of the last bin that is not beyond it. Before that, ${percentage(left)} % were out of the region.`,
    '',
  );
}

function ranksFigure(steps: readonly MeasuredStep[]): string {
  const shown = listShownRanks(steps.map(({ metrics }) => metrics));
  if (shown.length === 0) {
    return '';
  }
  const title = 'Probabilities by rank';
  const side = (region: ShownRank['region']): string => (region === 'inside' ? 'in region' : 'out of it');
  const rows = shown.map(({ region, rank, before, after }) => ({
    label: `${side(region)}, ${formatRank(rank)}`,
    value: toBareInterval(100 * (after - before)),
  }));
  const lines = shown.map(({ region, rank, before, after, updates }) =>
    row(`${side(region)}, ${formatRank(rank)}`, [
      `${decimal(100 * before, 3)} %`,
      `${decimal(100 * after, 3)} %`,
      count(updates),
    ]),
  );
  return figure(
    title,
    barsPicture('rank-shifts', title, rows, (value) => decimal(value, 3), 'change in probability, percentage points'),
    `What updates did to the probability of tokens by their rank before it, the mean over tokens and updates. Updates that left the region are shown as they were before they went back.${shown.some(({ region }) => region === 'outside') ? '' : ' No update left the region.'}`,
    table(`${title} in numbers`, ['tokens', 'before', 'after', 'updates'], lines, 'numbers'),
  );
}

function certificateFigure(steps: readonly MeasuredStep[]): string {
  const pairs = listComparedSteps(steps);
  const found = summarizeCertificates(steps.map(({ metrics }) => metrics));
  if (found === null) {
    return '';
  }
  const { steps: all, vacuous, violations, compared, rankCorrelation } = found;
  const rank = rankCorrelation === null ? NOT_MEASURED : decimal(rankCorrelation, 2);
  const sentence = `${count(violations)} of ${count(compared)} certificates are above what was measured; rank correlation ${rank}; ${count(vacuous)} of ${count(all)} steps have a vacuous certificate.`;
  const title = 'Certificate against measured improvement';
  const rows = pairs.map(
    ({ step, certificate, measured, vacuous: empty }) =>
      `<tr><th scope="row">${count(step)}</th><td>${decimal(certificate, 4)}</td><td>${decimal(measured, 4)}</td><td>${empty ? 'vacuous' : ''}</td></tr>`,
  );
  return figure(
    title,
    scatterPicture(
      'certificates',
      title,
      pairs.map(({ certificate, measured, vacuous: empty }) => ({ x: measured, y: certificate, place: empty ? 1 : 0 })),
      { x: 'measured improvement', y: 'certificate, in units of the return', description: sentence },
    ),
    `A diagnostic. ${sentence} Squares: vacuous, they say no more than the bound on advantages. The line is where both are equal.`,
    pairs.length === 0 ? '' : table(`${title} in numbers`, ['step', 'certificate', 'measured', ''], rows, 'numbers'),
  );
}

function shockFigure(shock: SwapShock): string {
  const title = 'What replacing a policy cost';
  const scaled = (value: Interval | null): Interval | null =>
    value === null
      ? null
      : {
          value: 100 * value.value,
          low: value.low === null ? null : 100 * value.low,
          high: value.high === null ? null : 100 * value.high,
          n: value.n,
        };
  const rows = shockRows(shock).map(({ label, value }) => ({ label, value: scaled(value) }));
  const lines = rows.map(
    ({ label, value }) =>
      `<tr><th scope="row">${label}</th>${value === null ? `<td colspan="3" class="none">${NOT_MEASURED}</td>` : `<td>${decimal(value.value, 1)} %</td><td>${formatBounds(value, (bound) => decimal(bound, 1)) ?? 'no interval'}</td><td>${count(value.n)}</td>`}</tr>`,
  );
  return figure(
    title,
    barsPicture('swap-shock', title, rows, (value) => `${decimal(value, 1)} %`, 'greedy accuracy, %'),
    escapeText(describeSwapShock(shock), 1000),
    table(`${title} in numbers`, ['team', 'accuracy', '95 % interval', 'n'], lines, 'numbers'),
  );
}

// Draws points against the line of equal axes, as an SVG picture. Pure: numbers in, text out.

interface ScatterPoint {
  readonly x: number;
  readonly y: number;
  /** The index of the marker and color. */
  readonly place: number;
}

/**
 * Returns the picture, or null if there is no point.
 * @param id unique among the pictures of the page
 * @param description for screen readers
 */
function scatterPicture(
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
