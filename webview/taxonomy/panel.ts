/** The failure taxonomy of a run: four classes, their counts and shares, and the cases with their evidence. */
import type { TaxonomyClass, TaxonomyClassName } from '../../src/shared/records.ts';
import { isTaxonomyState, type TaxonomyFromHost, type TaxonomyToHost } from '../../src/shared/taxonomyProtocol.ts';
import { barChart, onThemeChange } from '../common/charts.ts';
import { h, replace } from '../common/dom.ts';
import { count, percent } from '../common/format.ts';
import type { Host } from '../common/host.ts';
import { button, progressRing } from '../common/toolkit.ts';
import { caseList } from './cases.ts';
import { shares } from './shares.ts';

const TYPES: readonly string[] = ['opened', 'classes', 'working', 'failed'] satisfies readonly TaxonomyFromHost['type'][];

/** What each class means, in one sentence. */
const MEANING: Readonly<Record<TaxonomyClassName, string>> = {
  'Successful Credit Shift': 'Another message in the same context returns clearly more than the one that was taken.',
  'Evaluator Ambiguity': 'All alternatives return the same: the evaluator does not tell these messages apart.',
  'Misleading Plan': 'Whatever the later roles do with any of the plans, they mostly fail.',
  'Over-Coupling': 'Returns differ more below one message than between the messages: what follows decides.',
};

const COLOURS: Readonly<Record<TaxonomyClassName, string>> = {
  'Successful Credit Shift': '--vscode-charts-green',
  'Evaluator Ambiguity': '--vscode-charts-yellow',
  'Misleading Plan': '--vscode-charts-red',
  'Over-Coupling': '--vscode-charts-purple',
};

function isFromHost(value: unknown): value is TaxonomyFromHost {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && TYPES.includes(value.type);
}

export class TaxonomyPanel {
  private readonly host: Host<TaxonomyToHost>;
  private readonly title = h('h1', {});
  private readonly subtitle = h('span', { class: 'muted' });
  private readonly status = h('div', { class: 'working', role: 'status' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly body = h('div', { class: 'taxonomy' });
  private readonly chart = barChart();
  private classes: readonly TaxonomyClass[] = [];
  private run: string | null = null;
  private selected: TaxonomyClassName | null = null;

  constructor(root: HTMLElement, host: Host<TaxonomyToHost>) {
    this.host = host;
    const refresh = button('Classify again', () => { host.post({ type: 'refresh' }); });
    replace(root, h('header', { class: 'panel-head' }, this.title, this.subtitle, h('span', { class: 'push' }, refresh)), this.banner, this.status, this.body);
    const state = host.getState();
    if (isTaxonomyState(state)) this.selected = state.selected;
    onThemeChange(() => { this.drawChart(); });
    host.listen((message) => { if (isFromHost(message)) this.receive(message); });
    host.post({ type: 'ready' });
  }

  private receive(message: TaxonomyFromHost): void {
    this.banner.textContent = message.type === 'failed' ? message.message : '';
    replace(this.status, ...(message.type === 'working' ? [progressRing('Classifying'), h('span', {}, 'Classifying the buckets of the run')] : []));
    if (message.type === 'opened') {
      if (this.run !== null && this.run !== message.run) replace(this.body);
      this.run = message.run;
      this.title.textContent = message.title;
      this.subtitle.textContent = message.subtitle;
      this.keep();
    } else if (message.type === 'classes') {
      this.classes = message.classes;
      this.draw();
    }
  }

  private draw(): void {
    if (this.classes.every((entry) => entry.count === 0)) {
      replace(this.body, h('div', { class: 'welcome' }, h('h2', {}, 'No case was found'), h('p', { class: 'muted' }, 'Cases come from contexts with several alternatives. Train for a few steps, or replay alternatives of a message, and classify again.')));
      return;
    }
    const share = shares(this.classes);
    const rows = this.classes.map((entry) => this.classRow(entry, share.get(entry.name) ?? 0));
    const table = h(
      'table',
      { class: 'classes' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Class'), h('th', { scope: 'col', class: 'number' }, 'Cases'), h('th', { scope: 'col', class: 'number' }, 'Share'))),
      h('tbody', {}, ...rows),
    );
    const shown = this.classes.filter((entry) => this.selected === null || entry.name === this.selected);
    const heading = h('h3', {}, this.selected ?? 'All cases', this.selected === null ? null : this.showAll());
    replace(this.body, h('section', { class: 'overview', 'aria-label': 'Classes' }, table, this.chart.element), heading, ...shown.map((entry) => caseList(entry, this.selected === null, (message) => { this.host.post({ type: 'open', message }); })));
    this.drawChart();
  }

  private classRow(entry: TaxonomyClass, share: number): HTMLElement {
    const choose = h('button', { class: 'link', type: 'button', 'aria-pressed': String(this.selected === entry.name) }, entry.name);
    choose.addEventListener('click', () => { this.choose(this.selected === entry.name ? null : entry.name); });
    return h(
      'tr',
      { class: this.selected === entry.name ? 'chosen' : null },
      h('th', { scope: 'row' }, choose, h('p', { class: 'muted' }, MEANING[entry.name])),
      h('td', { class: 'number' }, count(entry.count)),
      h('td', { class: 'number' }, percent(share)),
    );
  }

  private showAll(): HTMLElement {
    const all = h('button', { class: 'link', type: 'button' }, 'show all');
    all.addEventListener('click', () => { this.choose(null); });
    return h('span', { class: 'show-all' }, all);
  }

  private choose(name: TaxonomyClassName | null): void {
    this.selected = name;
    this.draw();
    this.keep();
    this.body.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
  }

  private drawChart(): void {
    if (this.chart.element.isConnected) this.chart.update(this.classes.map((entry) => ({ name: entry.name, value: entry.count, colour: COLOURS[entry.name] })));
  }

  private keep(): void {
    if (this.run !== null) this.host.setState({ version: 1, run: this.run, selected: this.selected });
  }
}
