/** The page of `c3 bench team-drift`: gap and drift by team size, with fitted exponents. Pure. */

import type { Interval } from '../../../domain/credit.ts';
import { measureStability } from '../../../domain/stepRows.ts';
import { curvePicture } from '../../../report/curves.ts';
import { formatBounds, facts, figure, formatTime, writePage, table } from '../../../report/page.ts';
import { count, decimal, escapeText, NOT_MEASURED, percentage } from '../../../report/words.ts';
import {
  ARM_NAMES,
  averageBySize,
  DRIFT_ARMS,
  fitExponent,
  fitExponentOfMeans,
  averageSteps,
  shareOutOfRegion,
  STAGED_ARMS,
  type DriftMeasure,
  type DriftRun,
} from './driftTable.ts';

export interface DriftPage {
  readonly command: string;
  readonly hardware: string;
  /** ISO 8601. */
  readonly finishedAt: string;
  readonly runs: readonly DriftRun[];
}

const TITLE = 'How teams drift that learn role by role';

const formatIntervalCell = (value: Interval | null, digits = 2): string =>
  value === null
    ? NOT_MEASURED
    : `${decimal(value.value, digits)} ${formatBounds(value, (bound) => decimal(bound, digits)) ?? ''}`;

function drawMeasureFigure(runs: readonly DriftRun[], measure: DriftMeasure, title: string, words: string): string {
  const curves = STAGED_ARMS.map((arm, place) => ({
    label: ARM_NAMES[arm],
    place,
    points: averageBySize(runs, arm, (run) => averageSteps(run, measure)).map(({ roles, value }) => ({
      x: roles,
      y: value,
    })),
  })).filter(({ points }) => points.length > 0);
  const lines = STAGED_ARMS.map((arm) => {
    const sizes = averageBySize(runs, arm, (run) => averageSteps(run, measure));
    const means = fitExponentOfMeans(runs, arm, measure);
    return `<tr><th scope="row">${ARM_NAMES[arm]}</th><td>${formatIntervalCell(fitExponent(runs, arm, measure))}</td><td>${means === null ? NOT_MEASURED : decimal(means, 2)}</td><td>${sizes.map(({ roles, value }) => `${roles}: ${decimal(value.value, 4)}`).join('; ')}</td></tr>`;
  });
  return figure(
    title,
    curvePicture(measure, title, curves, { x: 'roles', y: words, unit: 'roles' }),
    'Mean over seeds of the mean over steps; band: its 95 % interval. The exponent b of a n^b is fitted by least squares of logarithms for each seed; its interval is Student\u2019s over the seeds that have a value above 0 at each size.',
    table(`${title}: exponents`, ['updates', 'exponent', 'of the means', 'roles: mean'], lines, 'numbers'),
  );
}

/** Returns a table with a row for each arm and a column for each team size. */
function formatSizeTable(
  title: string,
  runs: readonly DriftRun[],
  valueOf: (run: DriftRun) => number | null,
  write: (value: number) => string,
): string {
  const sizes = [...new Set(runs.map(({ roles }) => roles))].sort((one, other) => one - other);
  const lines = DRIFT_ARMS.map((arm) => {
    const own = averageBySize(runs, arm, valueOf);
    const cells = sizes.map((roles) => {
      const found = own.find((one) => one.roles === roles)?.value ?? null;
      return `<td>${found === null ? NOT_MEASURED : write(found.value)}</td>`;
    });
    return `<tr><th scope="row">${ARM_NAMES[arm]}</th>${cells.join('')}</tr>`;
  });
  return table(title, ['roles', ...sizes.map(String)], lines, 'numbers');
}

export function formatDriftPage({ command, hardware, finishedAt, runs }: DriftPage): string {
  const left = STAGED_ARMS.flatMap((arm) => {
    const share = shareOutOfRegion(runs, arm);
    return share === null ? [] : [`${ARM_NAMES[arm]} ${percentage(share)} %`];
  });
  const figures = [
    drawMeasureFigure(runs, 'staleGap', 'Stale gap', 'stale gap, in units of the return'),
    drawMeasureFigure(runs, 'scaledGap', 'Scaled gap', 'stale gap, in standard deviations of the credit'),
    drawMeasureFigure(runs, 'occupancyDrift', 'Occupancy drift', 'total variation, sum over turns'),
  ];
  return writePage(
    TITLE,
    `<header><h1>${TITLE}</h1>${facts([
      ['Command', `<code>${escapeText(command, 200)}</code>`],
      ['Hardware', escapeText(hardware, 200)],
      ['Ended', formatTime(finishedAt)],
      ['Runs', count(runs.length)],
    ])}</header>
<section><h2>Drift by team size</h2><div class="figures">${figures.join('')}</div></section>
<section><h2>Updates out of region</h2><p>Before they went back: ${left.length === 0 ? NOT_MEASURED : left.join('; ')}.</p></section>
<section><h2>Greedy accuracy on held-out chains</h2>${formatSizeTable(
      'Greedy accuracy',
      runs,
      ({ greedy }) => greedy,
      (value) => `${percentage(value)} %`,
    )}</section>
<section><h2>Stability</h2><p>Standard deviation of what the mean return gains from one step to the next, mean over seeds.</p>${formatSizeTable(
      'Stability',
      runs,
      ({ steps }) => measureStability(steps.map(({ meanReturn }) => meanReturn ?? null)),
      (value) => decimal(value, 3),
    )}</section>`,
    '',
  );
}
