/** Charts in the theme's colours. Every chart has a table with the same numbers beside it, so the drawing itself is hidden from screen readers. */
import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
  type ChartConfiguration,
} from 'chart.js';
import { h } from './dom.ts';

Chart.register(BarController, BarElement, CategoryScale, LinearScale, LineController, LineElement, PointElement, Tooltip);

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A line that can be moved on and drawn again in other colours. */
export interface LineChart {
  readonly element: HTMLElement;
  update(points: readonly Point[]): void;
  restyle(): void;
}

export interface LineOptions {
  /** One of the theme's chart colours. */
  readonly colour: string;
  readonly axis: string;
  readonly format: (value: number) => string;
  /** Bounds that the scale always shows. */
  readonly suggestedMin?: number;
  readonly suggestedMax?: number;
}

/** A colour or font of the theme; the fallback is the foreground. */
function theme(name: string): string {
  const style = getComputedStyle(document.documentElement);
  const value = style.getPropertyValue(name).trim();
  return value === '' ? style.getPropertyValue('--vscode-foreground').trim() : value;
}

/** Calls back when the user changes the colour theme. */
export function onThemeChange(listener: () => void): void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
  observer.observe(document.body, { attributes: true, attributeFilter: ['class'] });
}

/** A small line chart over training steps. */
export function lineChart(options: LineOptions): LineChart {
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const element = h('div', { class: 'chart' }, canvas);
  const chart = new Chart(canvas, lineConfiguration(options, []));
  let shown: readonly Point[] = [];
  return {
    element,
    update: (points) => {
      shown = points;
      const dataset = chart.data.datasets[0];
      if (dataset === undefined) return;
      dataset.data = [...points];
      chart.update('none');
    },
    restyle: () => {
      const fresh = lineConfiguration(options, shown);
      chart.data = fresh.data;
      chart.options = fresh.options ?? {};
      chart.update('none');
    },
  };
}

function lineConfiguration(options: LineOptions, points: readonly Point[]): ChartConfiguration<'line', Point[]> {
  const colour = theme(options.colour);
  const text = theme('--vscode-descriptionForeground');
  const grid = theme('--vscode-editorIndentGuide-background1');
  const font = { family: theme('--vscode-font-family'), size: 11 };
  return {
    type: 'line',
    data: { datasets: [{ data: [...points], borderColor: colour, backgroundColor: colour, borderWidth: 1.5, pointRadius: points.length > 60 ? 0 : 2, pointHoverRadius: 4, tension: 0 }] },
    options: {
      animation: false,
      maintainAspectRatio: false,
      interaction: { mode: 'nearest', axis: 'x', intersect: false },
      scales: {
        x: { type: 'linear', title: { display: true, text: options.axis, color: text, font }, ticks: { color: text, font, precision: 0, maxTicksLimit: 8 }, grid: { display: false }, border: { color: grid } },
        y: {
          ticks: { color: text, font, maxTicksLimit: 5, callback: (value) => options.format(Number(value)) },
          grid: { color: grid, lineWidth: 0.5 },
          border: { display: false },
          ...(options.suggestedMin === undefined ? {} : { suggestedMin: options.suggestedMin }),
          ...(options.suggestedMax === undefined ? {} : { suggestedMax: options.suggestedMax }),
        },
      },
      plugins: { tooltip: tooltip((x, y) => [`step ${String(x)}`, options.format(y)]) },
    },
  };
}

/** A small horizontal bar chart: one bar for each name. */
export interface BarChart {
  readonly element: HTMLElement;
  update(bars: readonly { readonly name: string; readonly value: number; readonly colour: string }[]): void;
}

export function barChart(): BarChart {
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const element = h('div', { class: 'chart' }, canvas);
  const empty: ChartConfiguration<'bar', number[], string> = { type: 'bar', data: { labels: [], datasets: [] } };
  const chart = new Chart(canvas, empty);
  return {
    element,
    update: (bars) => {
      const text = theme('--vscode-foreground');
      const muted = theme('--vscode-descriptionForeground');
      const font = { family: theme('--vscode-font-family'), size: 11 };
      const grid = theme('--vscode-editorIndentGuide-background1');
      chart.data = {
        labels: bars.map((bar) => bar.name),
        datasets: [{ data: bars.map((bar) => bar.value), backgroundColor: bars.map((bar) => theme(bar.colour)), barThickness: 12 }],
      };
      chart.options = {
        indexAxis: 'y',
        animation: false,
        maintainAspectRatio: false,
        scales: {
          x: { beginAtZero: true, ticks: { color: muted, font, precision: 0, maxTicksLimit: 6 }, grid: { color: grid, lineWidth: 0.5 }, border: { display: false } },
          y: { ticks: { color: text, font: { ...font, size: 12 } }, grid: { display: false }, border: { color: grid } },
        },
        plugins: { tooltip: tooltip(null) },
      };
      chart.update('none');
    },
  };
}

function tooltip(words: ((x: number, y: number) => readonly [string, string]) | null): object {
  return {
    backgroundColor: theme('--vscode-editorHoverWidget-background'),
    borderColor: theme('--vscode-editorHoverWidget-border'),
    borderWidth: 1,
    cornerRadius: 2,
    displayColors: false,
    titleColor: theme('--vscode-editorHoverWidget-foreground'),
    bodyColor: theme('--vscode-editorHoverWidget-foreground'),
    ...(words === null
      ? {}
      : {
          callbacks: {
            title: (items: readonly { readonly parsed: Point }[]) => items.map((item) => words(item.parsed.x, item.parsed.y)[0]),
            label: (item: { readonly parsed: Point }) => words(item.parsed.x, item.parsed.y)[1],
          },
        }),
  };
}
