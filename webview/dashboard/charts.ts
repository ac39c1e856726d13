/** The four charts of a run: what the team earned, how far it moved, how often the trust region held it, and what a step cost. */
import type { Step } from '../../src/shared/records.ts';
import { lineChart, type LineChart, type LineOptions, type Point } from '../common/charts.ts';
import { h } from '../common/dom.ts';
import { count, decimal, NOT_MEASURED } from '../common/format.ts';
import { callPoints, metricPoints } from './points.ts';

interface Series {
  readonly title: string;
  readonly options: LineOptions;
  readonly points: (steps: readonly Step[]) => readonly Point[];
}

const axis = 'step';
const SERIES: readonly Series[] = [
  { title: 'Mean return', options: { colour: '--vscode-charts-green', axis, format: (value) => decimal(value), suggestedMin: 0, suggestedMax: 1 }, points: (steps) => metricPoints(steps, 'meanReturn') },
  { title: 'KL to the starting policy', options: { colour: '--vscode-charts-blue', axis, format: (value) => decimal(value, 4), suggestedMin: 0, suggestedMax: 0.001 }, points: (steps) => metricPoints(steps, 'kl') },
  { title: 'Clip fraction', options: { colour: '--vscode-charts-yellow', axis, format: (value) => decimal(value, 3), suggestedMin: 0, suggestedMax: 0.01 }, points: (steps) => metricPoints(steps, 'clipFraction') },
  { title: 'Evaluator calls per step', options: { colour: '--vscode-charts-purple', axis, format: (value) => count(value), suggestedMin: 0 }, points: callPoints },
];

export class Charts {
  readonly element: HTMLElement;
  private readonly parts: readonly { readonly series: Series; readonly chart: LineChart; readonly latest: HTMLElement; drawn: string }[];

  constructor() {
    this.parts = SERIES.map((series) => ({ series, chart: lineChart(series.options), latest: h('span', { class: 'latest' }), drawn: '' }));
    const figures = this.parts.map(({ series, chart, latest }) => h('figure', {}, h('figcaption', {}, h('span', {}, series.title), latest), chart.element));
    this.element = h('section', { class: 'charts', 'aria-label': 'Charts' }, ...figures);
  }

  /** Draws what changed. */
  update(steps: readonly Step[]): void {
    for (const part of this.parts) {
      const points = part.series.points(steps);
      const drawn = JSON.stringify(points);
      if (drawn === part.drawn) continue;
      part.drawn = drawn;
      part.chart.update(points);
      const last = points.at(-1);
      part.latest.textContent = last === undefined ? NOT_MEASURED : part.series.options.format(last.y);
    }
  }

  restyle(): void {
    for (const { chart } of this.parts) chart.restyle();
  }
}
