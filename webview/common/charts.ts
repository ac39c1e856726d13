/** Charts in the theme's colours. Every chart has a table with the same numbers beside it, so the drawing itself is hidden from screen readers. */
import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  LinearScale,
  Tooltip,
  type ChartConfiguration,
} from 'chart.js';
import { h } from './dom.ts';

Chart.register(BarController, BarElement, CategoryScale, LinearScale, Tooltip);

/** A colour or font of the theme; the fallback is the foreground. */
export function theme(name: string): string {
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
        plugins: { tooltip: tooltip() },
      };
      chart.update('none');
    },
  };
}

function tooltip(): object {
  return {
    backgroundColor: theme('--vscode-editorHoverWidget-background'),
    borderColor: theme('--vscode-editorHoverWidget-border'),
    borderWidth: 1,
    cornerRadius: 2,
    displayColors: false,
    titleColor: theme('--vscode-editorHoverWidget-foreground'),
    bodyColor: theme('--vscode-editorHoverWidget-foreground'),
  };
}
