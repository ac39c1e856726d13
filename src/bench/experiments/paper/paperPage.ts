/**
 * The page of `c3 bench paper-table`: one HTML file without scripts or external resources, for
 * reading and printing. Pure: a report in, text out.
 */

import type { Budget, Claim, MethodRow, MethodTable } from '../../../diagnostics/methods/methodTable.ts';
import { curvePicture } from '../../../report/curves.ts';
import { formatBounds, facts, figure, formatTime, writePage, table } from '../../../report/page.ts';
import { formatCompact, decimal, escapeText, NOT_MEASURED, percentage } from '../../../report/words.ts';
import { findMethodWords } from '../../../training/methods/methods.ts';
import { isOnFront, drawParetoPicture, type CostPoint } from './paperPictures.ts';
import {
  formatClaimsTable,
  formatComparisonTable,
  formatMethodLabel,
  MISSING_CELL,
  formatMethodName,
  REFERENCE,
  formatResultsTable,
  type Writer,
} from './resultTables.ts';

export interface PaperReport {
  /** The command line that made the report. */
  readonly command: string;
  /** The runs by hardware and numeric environment: versions, provider. */
  readonly hardware: string;
  /** ISO 8601. */
  readonly finishedAt: string;
  /** True if the table has fewer seeds and steps than the full one. */
  readonly quick: boolean;
  /** Finished and planned numbers of seeds of a task and of runs of the search. */
  readonly progress: readonly { readonly of: string; readonly done: number; readonly all: number }[];
  readonly settings: Readonly<Record<string, string>>;
  /**
   * The learning rates that were tried for each method. `value` is the mean share over the seeds,
   * in [0, 1], or null if it was not measured.
   */
  readonly search: readonly {
    readonly task: string;
    readonly method: string;
    readonly rate: number;
    readonly value: number | null;
    readonly seeds: number;
    readonly chosen: boolean;
  }[];
  readonly table: MethodTable;
}

const TITLE = 'Methods of credit at one evaluator budget';

function curvesFigure(
  id: string,
  task: string,
  rows: readonly MethodRow[],
  placeOf: (method: string) => number,
): string {
  const curves = rows.map(({ method, curve }) => ({
    label: formatMethodLabel(method),
    place: placeOf(method),
    points: curve.map((each) => ({ x: each.evaluatorCalls, y: each.meanReturn })),
  }));
  const without = rows.filter(({ curve }) => curve.length === 0).map(({ method }) => formatMethodName(method));
  const write: Writer = (value) => decimal(value, 3);
  const lines = rows
    .filter(({ curve }) => curve.length > 0)
    .map(({ method, curve }) => {
      const steps = curve.map(
        ({ step, evaluatorCalls, tokens, meanReturn }) =>
          `<tr><td>${step}</td><td>${evaluatorCalls.toLocaleString('en-US', { maximumFractionDigits: 0 })}</td><td>${formatCompact(tokens)}</td><td>${write(meanReturn.value)}</td><td>${formatBounds(meanReturn, write) ?? 'no interval'}</td><td>${meanReturn.n}</td></tr>`,
      );
      return `<tbody><tr><th scope="rowgroup" colspan="6">${formatMethodName(method)}</th></tr>${steps.join('')}</tbody>`;
    });
  const numbers = table(
    'Learning curves in numbers',
    ['step', 'evaluator calls', 'tokens', 'mean return', '95 % interval', 'seeds'],
    lines,
    'numbers',
  );
  const note = `Mean over seeds after each step; band: its 95 % interval, cut where it reaches far beyond the lines.${without.length === 0 ? '' : ` Without training steps: ${without.join(', ')}.`}`;
  return figure(
    'Learning curves',
    curvePicture(id, `Learning curves on ${task}`, curves, {
      x: 'evaluator calls of training',
      y: 'mean return of the training episodes',
      unit: 'evaluator calls',
    }),
    note,
    numbers,
  );
}

function paretoFigure(
  id: string,
  task: string,
  rows: readonly MethodRow[],
  placeOf: (method: string) => number,
): string {
  const points = rows.flatMap(({ method, measures: { pass1, tokens } }): CostPoint[] => {
    // A method that does not train spends no training tokens, even if that was not measured.
    const x = tokens?.mean ?? (findMethodWords(method)?.trains === false ? 0 : null);
    return pass1 === null || x === null
      ? []
      : [{ label: formatMethodLabel(method), place: placeOf(method), x, y: pass1.interval }];
  });
  const lines = points.map(
    (each) =>
      `<tr><th scope="row">${escapeText(each.label, 40)}</th><td>${formatCompact(each.x)}</td><td>${percentage(each.y.value)} %</td><td>${formatBounds(each.y, percentage) ?? 'no interval'}</td><td>${each.y.n}</td><td>${isOnFront(each, points) ? 'yes' : 'no'}</td></tr>`,
  );
  const numbers = table(
    'Accuracy and tokens in numbers',
    ['method', 'tokens', 'pass@1', '95 % interval', 'seeds', 'on the front'],
    lines,
    'numbers',
  );
  const note =
    'Bars: 95 % interval of the accuracy, without a stroke at an end beyond the picture. Line and filled markers: the Pareto front, the methods that no other beats at both.';
  return figure(
    'Accuracy against training tokens',
    drawParetoPicture(id, `Accuracy against training tokens on ${task}`, points),
    note,
    numbers,
  );
}

/** Formats 0.0003 as 3 x 10^-4. */
function formatRate(rate: number): string {
  if (rate === 0 || !Number.isFinite(rate)) {
    return String(rate);
  }
  const [digits = '', power = ''] = Number(rate.toPrecision(12)).toExponential().split('e');
  return `${digits === '1' ? '' : `${digits} \u00d7 `}10<sup>${String(Number(power)).replace('-', '\u2212')}</sup>`;
}

function searchPart(search: PaperReport['search']): string {
  if (search.length === 0) {
    return '';
  }
  const rates = [...new Set(search.map(({ rate }) => rate))].sort((a, b) => a - b);
  const lines = [...new Set(search.map(({ method }) => method))].map((method) => {
    const cells = rates.map((rate) => {
      const found = search.find((each) => each.method === method && each.rate === rate);
      if (found === undefined || (found.value === null && !found.chosen)) {
        return MISSING_CELL;
      }
      const value = found.value === null ? NOT_MEASURED : percentage(found.value);
      const seeds = `n ${found.seeds}`;
      return found.chosen
        ? `<td><strong>${value}</strong><small>${seeds}, chosen</small></td>`
        : `<td>${value}<small>${seeds}</small></td>`;
    });
    return `<tr><th scope="row">${formatMethodName(method)}</th>${cells.join('')}</tr>`;
  });
  const words = rates.length === 1 ? 'one rate' : `${rates.length} rates`;
  return `<h3>Search of the learning rate</h3>${table('Search of the learning rate', ['accuracy, %, at rate', ...rates.map(formatRate)], lines, 'results narrow')}<p class="note">The same ${words} for every method, on seeds outside the table: all with the first seed, with the next ones those with which a method had solved most. Means are over n seeds; the choice is among the rates with most of them.</p>`;
}

const BUDGET_WORDS: Readonly<Record<Budget, string>> = {
  calls: 'equal evaluator calls',
  tokens: 'equal training tokens',
  seconds: 'equal training time',
};

function taskSection(report: PaperReport, task: string, index: number, placeOf: (method: string) => number): string {
  const of = <T extends { readonly task: string; readonly budget: Budget }>(all: readonly T[], budget: Budget): T[] =>
    all.filter((each) => each.task === task && each.budget === budget);
  const { rows, comparisons, claims } = report.table;
  const matched = of(rows, 'calls');
  const id = `task-${index + 1}`;
  const others = (['tokens', 'seconds'] as const)
    .filter((budget) => of(rows, budget).length > 0)
    .map(
      (budget) => `<h3>At ${BUDGET_WORDS[budget]}</h3>${formatResultsTable(of(rows, budget))}
${formatComparisonTable(of(comparisons, budget))}
${formatClaimsTable(of(claims, budget))}`,
    );
  const results = `<h3>Results at ${BUDGET_WORDS.calls}</h3>${formatResultsTable(matched)}
<div class="figures">${curvesFigure(`${id}-curves`, task, matched, placeOf)}${paretoFigure(`${id}-pareto`, task, matched, placeOf)}</div>
<h3>Paired comparisons with ${formatMethodName(REFERENCE)}</h3>${formatComparisonTable(of(comparisons, 'calls'))}
<h3>Claims of the paper</h3>${formatClaimsTable(of(claims, 'calls'))}
${others.join('\n')}`;
  return `<section id="${id}"><h2>${escapeText(task, 80)}</h2>
${[...matched, ...of(comparisons, 'calls'), ...of(claims, 'calls')].length === 0 ? '<p class="none">No seed is measured yet.</p>' : results}
${searchPart(report.search.filter((each) => each.task === task))}</section>`;
}

/** Describes the verdicts, as in `Claims of the paper: 7 held, 1 undecided.` */
function describeVerdicts(claims: readonly Claim[]): string {
  const counts = (['held', 'reversed', 'undecided', 'not measured'] as const).map(
    (verdict) => [claims.filter((claim) => claim.verdict === verdict).length, verdict] as const,
  );
  return claims.length === 0
    ? ''
    : `<p class="verdicts">Claims of the paper: ${counts
        .filter(([count]) => count > 0)
        .map(([count, verdict]) => `${count} ${verdict}`)
        .join(', ')}.</p>`;
}

function formatReadingHelp(methods: readonly string[]): string {
  const known = methods.flatMap((method) => {
    const found = findMethodWords(method);
    return found === undefined
      ? []
      : [`<dt>${found.label} <code>${escapeText(method)}</code></dt><dd>${found.summary}</dd>`];
  });
  return `<section class="reading"><h2>How to read this page</h2><dl>
<dt>Intervals</dt><dd>All are 95 %. In the results and the pictures: Student\u2019s t over seeds, so two seeds give very wide ones. Of a difference: Student\u2019s t over the differences of the seeds, so that what another training seed changes is part of it.</dd>
<dt>Verdicts</dt><dd>Held: the whole interval of the difference lies on the claim\u2019s side. Reversed: on the other side. Undecided: it holds 0.</dd>
<dt>Equal tokens, equal time</dt><dd>Methods take more or fewer steps, so that they cost what those of MAGRPO do, as measured in the search of the learning rate. Times of different hardware are never compared: seconds, and all at equal time, are of the hardware that the whole search of a task ran on, and not measured where it ran on several.</dd>
<dt>Fidelity</dt><dd>Spearman\u2019s correlation between the credit of a message and what the message is worth, its return less the value of its context; that value comes from samples independent of the credited alternatives, for credit measured against itself would agree by construction.</dd>
<dt>Variance</dt><dd>How much the credits of the alternatives of one context vary, as the mean over contexts.</dd>
<dt>Influence</dt><dd>How much the choice of a message changes the next teammate\u2019s message in the same context: the mutual information between distinct texts, less what the estimate comes to when the next messages are permuted. As published: without that correction, which few samples raise well above 0.</dd>
<dt>Training tokens, evaluator calls</dt><dd>Those of training alone; evaluations are not counted.</dd>
${known.join('\n')}</dl></section>`;
}

/** Returns the whole page. All texts of the report are escaped. */
export function formatPaperPage(report: PaperReport): string {
  const {
    progress,
    table: { rows, comparisons, claims },
  } = report;
  const tasks = [...new Set([...rows, ...comparisons, ...claims, ...report.search].map(({ task }) => task))];
  const methods = [...new Set(rows.map(({ method }) => method))];
  const about: [string, string][] = [
    ['Hardware', escapeText(report.hardware, 2000)],
    ['Measured so far', progress.map(({ of, done, all }) => `${done} of ${all} ${escapeText(of, 80)}`).join(', ')],
    ['Finished', formatTime(report.finishedAt)],
    ...Object.entries(report.settings).map(([name, value]): [string, string] => [
      escapeText(name, 80),
      escapeText(value, 400),
    ]),
  ];
  const links =
    tasks.length < 2
      ? ''
      : `<nav aria-label="Tasks">${tasks.map((task, index) => `<a href="#task-${index + 1}">${escapeText(task, 80)}</a>`).join(' ')}</nav>`;
  const content = `<header><h1>${TITLE}</h1>
${report.quick ? '<p class="quick"><strong>Quick run:</strong> fewer seeds and steps than the full table; intervals are wide.</p>' : ''}${progress.some(({ done, all }) => done < all) ? '<p class="quick"><strong>Not finished:</strong> all that is shown is of the runs measured so far.</p>' : ''}${describeVerdicts(claims)}
<pre><code>${escapeText(report.command, 1000)}</code></pre>
${facts(about)}${links}</header>
${tasks.map((task, index) => taskSection(report, task, index, (method) => methods.indexOf(method))).join('\n')}
${formatReadingHelp(methods)}`;
  return writePage(TITLE, content, STYLE, true);
}

const STYLE = `
.deviation { color: var(--soft); }
.quick { padding: 4px 10px; border-left: 3px solid var(--text); background: var(--wash); }
.results td { white-space: nowrap; }
.roles span { display: block; font-size: 12px; overflow-wrap: anywhere; }
.verdict { white-space: nowrap; font-weight: 600; }
.undecided, .not-measured { font-weight: normal; }
.narrow, .numbers { width: auto; min-width: 50%; }
@media print, (max-width: 1000px) {
  .results th, .results td { padding: 4px 2.5px; }
  .roles span { font-size: 10px; }
  .deviation { display: block; }
  .results .none, .results .roles { white-space: normal; }
}
`;
