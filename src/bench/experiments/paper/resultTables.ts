/** The tables of the paper page: results by method, comparisons of methods, and the claims that they support. */

import type { Claim, MeasureName, MethodComparison, MethodRow } from '../../../diagnostics/methods/methodTable.ts';
import type { SeedSummary } from '../../../diagnostics/statistics/seeds.ts';
import type { Interval } from '../../../domain/credit.ts';
import { formatBounds, table } from '../../../report/page.ts';
import { formatCompact, decimal, escapeText, NOT_MEASURED, percentage } from '../../../report/words.ts';
import { findMethodWords } from '../../../training/methods/methods.ts';

/** The method that others are compared with. */
export const REFERENCE = 'c3';

/** Returns the label of a method, or its own name if it is unknown. */
export const formatMethodLabel = (method: string): string => findMethodWords(method)?.label ?? method;
export const formatMethodName = (method: string): string => escapeText(formatMethodLabel(method), 40);

type Form = 'percent' | 'decimal' | 'compact' | 'count' | 'seconds';

interface Column {
  readonly measure: MeasureName;
  readonly head: string;
  readonly unit: string;
  readonly form: Form;
  readonly better: 'higher' | 'lower';
  /**
   * True for a cost of training. A method that does not train is never the best of such a column.
   */
  readonly cost?: boolean;
}

const COLUMNS: readonly Column[] = [
  { measure: 'pass1', head: 'pass@1', unit: '%', form: 'percent', better: 'higher' },
  { measure: 'greedy', head: 'greedy', unit: '%', form: 'percent', better: 'higher' },
  { measure: 'pass10', head: 'pass@10', unit: '%', form: 'percent', better: 'higher' },
  { measure: 'fidelity', head: 'fidelity', unit: '', form: 'decimal', better: 'higher' },
  { measure: 'variance', head: 'variance', unit: '', form: 'decimal', better: 'lower' },
  { measure: 'influence', head: 'influence', unit: 'nats', form: 'decimal', better: 'higher' },
  { measure: 'publishedInfluence', head: 'influence as published', unit: 'nats', form: 'decimal', better: 'higher' },
  { measure: 'tokens', head: 'training tokens', unit: '', form: 'compact', better: 'lower', cost: true },
  { measure: 'evaluatorCalls', head: 'evaluator calls', unit: '', form: 'count', better: 'lower', cost: true },
  { measure: 'seconds', head: 'seconds', unit: '', form: 'seconds', better: 'lower', cost: true },
];
/** The column that follows the messages by role. */
const AFTER_ROLES: MeasureName = 'seconds';

export type Writer = (value: number) => string;

/** Returns the number format of a column. Decimals show three digits of the largest value. */
function chooseColumnWriter({ form }: Column, values: readonly number[]): Writer {
  if (form === 'percent') {
    return percentage;
  }
  if (form === 'compact') {
    return (value) => formatCompact(value);
  }
  const largest = Math.max(0, ...values.map(Math.abs).filter(Number.isFinite));
  if (form === 'decimal') {
    const digits = largest === 0 ? 2 : Math.min(4, Math.max(0, 2 - Math.floor(Math.log10(largest))));
    return (value) => decimal(value, digits);
  }
  const digits = form === 'seconds' && largest < 100 ? 1 : 0;
  return (value) =>
    value
      .toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
      .replace(/^-(?=[0.]*$)/u, '')
      .replace('-', '\u2212');
}

const signed = (write: Writer, value: number): string => (value > 0 ? `+${write(value)}` : write(value));

/** Formats a probability with two significant digits. */
function probability(p: number): string {
  return p < 1e-4 ? decimal(p, 4) : p.toPrecision(2);
}

export const MISSING_CELL = `<td class="none">${NOT_MEASURED}</td>`;
const heading = ({ head, unit, better }: Column, direction: boolean): string =>
  `${head}${unit === '' ? '' : `, ${unit}`}${direction ? `\u00a0<span aria-hidden="true">${better === 'higher' ? '\u2191' : '\u2193'}</span><span class="hidden">(${better} is better)</span>` : ''}`;

/** Returns the rows with the best mean of a column, or none if all measured means are equal. */
function findBestRows({ measure, better, cost }: Column, rows: readonly MethodRow[]): ReadonlySet<MethodRow> {
  const meanOf = (row: MethodRow): number => row.measures[measure]?.mean ?? Number.NaN;
  const measured = rows.filter(
    (row) => Number.isFinite(meanOf(row)) && !(cost === true && row.measures.evaluatorCalls?.mean === 0),
  );
  const means = measured.map(meanOf);
  const best = better === 'higher' ? Math.max(...means) : Math.min(...means);
  return new Set(means.every((value) => value === best) ? [] : measured.filter((row) => meanOf(row) === best));
}

function summaryCell(summary: SeedSummary | null, write: Writer, best: boolean, seeds: number): string {
  if (summary === null || !Number.isFinite(summary.mean)) {
    return MISSING_CELL;
  }
  const deviation =
    summary.standardDeviation === null || summary.standardDeviation === 0
      ? ''
      : ` <span class="deviation">\u00b1 ${write(summary.standardDeviation)}</span>`;
  const under = formatBounds(summary.interval, write) ?? (summary.n === 1 ? 'one seed' : 'all equal');
  const value = best
    ? `<strong>${write(summary.mean)}</strong><span class="hidden"> (best)</span>`
    : write(summary.mean);
  return `<td>${value}${deviation}<small>${under}${summary.n === seeds || summary.n === 1 ? '' : `, n ${summary.n}`}</small></td>`;
}

function rolesCell(decisions: MethodRow['decisions']): string {
  const roles = Object.entries(decisions);
  return `<td class="roles">${roles.length === 0 ? 'none' : roles.map(([role, { mean }]) => `<span>${escapeText(role, 24)} ${formatCompact(mean)}</span>`).join(' ')}</td>`;
}

export function formatResultsTable(rows: readonly MethodRow[]): string {
  if (rows.length === 0) {
    return `<p class="none">${NOT_MEASURED}</p>`;
  }
  const columns = COLUMNS.map((column) => {
    const means = rows.flatMap((row) => row.measures[column.measure]?.mean ?? []);
    return { column, best: findBestRows(column, rows), write: chooseColumnWriter(column, means) };
  });
  const rolesFirst = (measure: MeasureName, cell: string): string => (measure === AFTER_ROLES ? cell : '');
  const head = [
    'method',
    ...columns.flatMap(({ column }) => [
      ...(column.measure === AFTER_ROLES ? ['messages by role'] : []),
      heading(column, true),
    ]),
  ];
  const lines = rows.map((row) => {
    const cells = columns.map(
      ({ column: { measure }, best, write }) =>
        rolesFirst(measure, rolesCell(row.decisions)) +
        summaryCell(row.measures[measure], write, best.has(row), row.seeds.length),
    );
    return `<tr><th scope="row">${formatMethodName(row.method)}<small>${formatSeedCount(row.seeds.length)}</small></th>${cells.join('')}</tr>`;
  });
  return `${table('Results by method', head, lines, 'results')}<p class="note">Mean \u00b1 standard deviation over seeds, its 95 % interval below. Bold: the best mean of a column, whatever its interval; for what is spent, among the methods that train.</p>`;
}

const formatSeedCount = (n: number): string => (n === 1 ? 'one seed' : `${n} seeds`);

/** Returns the comparison as a difference of the reference: reference - other. */
function turnToReference(comparison: MethodComparison): { readonly other: string; readonly difference: Interval } {
  if (comparison.second === REFERENCE) {
    return { other: comparison.first, difference: comparison.difference };
  }
  const { value, low, high, n } = comparison.difference;
  return {
    other: comparison.second,
    difference: { value: 0 - value, low: high === null ? null : 0 - high, high: low === null ? null : 0 - low, n },
  };
}

export function formatComparisonTable(all: readonly MethodComparison[]): string {
  const turned = all
    .filter(({ first, second }) => (first === REFERENCE) !== (second === REFERENCE))
    .map((comparison) => ({ ...comparison, ...turnToReference(comparison) }));
  if (turned.length === 0) {
    return `<p class="none">${NOT_MEASURED}</p>`;
  }
  const columns = COLUMNS.flatMap((column) => {
    const values = turned.flatMap(({ measure, difference }) => (measure === column.measure ? difference.value : []));
    return values.length === 0 ? [] : [{ column, write: chooseColumnWriter(column, values) }];
  });
  const others = [...new Set(turned.map(({ other }) => other))];
  const lines = others.map((other) => {
    const cells = columns.map(({ column: { measure }, write }) => {
      const found = turned.find((comparison) => comparison.other === other && comparison.measure === measure);
      if (found === undefined || !Number.isFinite(found.difference.value)) {
        return MISSING_CELL;
      }
      const {
        difference: { value, low, high },
        signFlip,
      } = found;
      const clear = low !== null && high !== null && (low > 0 || high < 0);
      const test = signFlip === null ? `p ${NOT_MEASURED}` : `p ${probability(signFlip.p)}, n ${signFlip.n}`;
      return `<td>${clear ? `<strong>${signed(write, value)}</strong>` : signed(write, value)}<small>${formatBounds(found.difference, write) ?? 'no interval'}</small><small>${test}</small></td>`;
    });
    return `<tr><th scope="row">${formatMethodName(REFERENCE)} \u2212 ${formatMethodName(other)}</th>${cells.join('')}</tr>`;
  });
  const seeds = [...new Set(turned.flatMap(({ signFlip }) => signFlip?.n ?? []))].sort((a, b) => a - b);
  const floor = seeds
    .map((n) => `With ${formatSeedCount(n)} p cannot fall below 2/2<sup>${n}</sup> = ${probability(2 / 2 ** n)}.`)
    .join(' ');
  const head = [
    'difference',
    ...columns.map(({ column }) =>
      heading({ ...column, unit: column.form === 'percent' ? 'points' : column.unit }, false),
    ),
  ];
  return `${table('Paired comparisons', head, lines, 'results')}<p class="note">Difference with its 95 % interval, bold where that does not hold 0; below it p of the exact sign-flip test over n seeds, two-sided. ${floor}</p>`;
}

const SIGNS: Readonly<Record<Claim['verdict'], string>> = {
  held: '\u2713',
  reversed: '\u2717',
  undecided: '~',
  'not measured': '\u2013',
};

export function formatClaimsTable(claims: readonly Claim[]): string {
  if (claims.length === 0) {
    return '<p class="none">none</p>';
  }
  const lines = claims.map(
    ({ claim, verdict, evidence }) =>
      `<tr><td class="verdict ${verdict.replace(' ', '-')}"><span aria-hidden="true">${SIGNS[verdict]}</span> ${verdict}</td><td>${escapeText(claim, 400)}</td><td>${escapeText(evidence, 1000)}</td></tr>`,
  );
  return table('Claims of the paper', ['verdict', 'claim', 'evidence'], lines, 'words');
}
