/** The numbers behind the charts. */
import type { DashboardSnapshot } from '../../src/shared/dashboardProtocol.ts';
import type { Step, StepMetrics } from '../../src/shared/records.ts';
import { h } from '../common/dom.ts';
import { count, decimal, duration } from '../common/format.ts';
import { callPoints } from './points.ts';

const COLUMNS: readonly { readonly name: string; readonly value: (metrics: StepMetrics) => string }[] = [
  { name: 'Mean return', value: (metrics) => decimal(metrics.meanReturn, 3) },
  { name: 'Loss', value: (metrics) => decimal(metrics.loss, 4) },
  { name: 'KL', value: (metrics) => decimal(metrics.kl, 5) },
  { name: 'Clip fraction', value: (metrics) => decimal(metrics.clipFraction, 4) },
  { name: 'Gradient norm', value: (metrics) => decimal(metrics.gradientNorm, 3) },
  { name: 'Credit variance', value: (metrics) => decimal(metrics.creditVariance, 4) },
  { name: 'Generation', value: (metrics) => duration(metrics.generateSeconds) },
  { name: 'Training', value: (metrics) => duration(metrics.trainSeconds) },
];

/** The table, newest step first, and a line that says when steps were left out. */
export function stepTable({ steps, stride }: DashboardSnapshot): readonly HTMLElement[] {
  const calls = new Map(callPoints(steps).map((point) => [point.x, point.y]));
  const measured = steps.flatMap((step) => (step.metrics === null ? [] : [{ step, metrics: step.metrics }])).reverse();
  const head = h('tr', {}, ...['Step', ...COLUMNS.map((column) => column.name), 'Evaluator calls'].map((name) => h('th', { scope: 'col', class: 'number' }, name)));
  const table = h('table', {}, h('caption', { class: 'hidden' }, 'Metrics by step'), h('thead', {}, head), h('tbody', {}, ...measured.map(({ step, metrics }) => row(step, metrics, calls.get(step.iteration)))));
  if (measured.length === 0) return [h('p', { class: 'muted' }, 'No step has ended yet.')];
  return stride > 1 ? [h('p', { class: 'muted' }, `Every ${count(stride)}th step and the last are shown.`), table] : [table];
}

function row(step: Step, metrics: StepMetrics, calls: number | undefined): HTMLElement {
  const cells = [...COLUMNS.map((column) => column.value(metrics)), calls === undefined ? 'not measured' : count(calls)];
  return h('tr', {}, h('th', { scope: 'row', class: 'number' }, count(step.iteration)), ...cells.map((text) => h('td', { class: 'number' }, text)));
}
