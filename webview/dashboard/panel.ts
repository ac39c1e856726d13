/** The run dashboard: how a run went, or goes, step by step. */
import { isDashboardState, type DashboardFromHost, type DashboardSnapshot, type DashboardToHost } from '../../src/shared/dashboardProtocol.ts';
import { isResumable } from '../../src/shared/runStatus.ts';
import { onThemeChange } from '../common/charts.ts';
import { badge, h, replace } from '../common/dom.ts';
import type { Host } from '../common/host.ts';
import { button, dropdown, option } from '../common/toolkit.ts';
import { Charts } from './charts.ts';
import { stepTable } from './stepTable.ts';
import { ledgerTable, outcomeTable, stageWords } from './summary.ts';

const TYPES: readonly string[] = ['snapshot', 'empty', 'failed'] satisfies readonly DashboardFromHost['type'][];

function isFromHost(value: unknown): value is DashboardFromHost {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && TYPES.includes(value.type);
}

export class DashboardPanel {
  private readonly root: HTMLElement;
  private readonly host: Host<DashboardToHost>;
  private readonly charts = new Charts();
  private readonly chooser = dropdown('Run', (run) => { this.choose(run); });
  private readonly status = h('span', { class: 'status', role: 'status' });
  private readonly actions = h('span', { class: 'push actions' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly summary = h('section', { class: 'summary', 'aria-label': 'Summary' });
  private readonly table = h('details', { class: 'data' }, h('summary', {}, 'The numbers behind the charts'));
  private readonly tableBody = h('div', { class: 'data-body' });
  private readonly body: HTMLElement;
  private run: string | null = null;
  private choices = '';
  private snapshot: DashboardSnapshot | null = null;

  constructor(root: HTMLElement, host: Host<DashboardToHost>) {
    this.root = root;
    this.host = host;
    this.body = h('div', { class: 'dashboard' }, this.summary, this.charts.element, this.table);
    this.table.append(this.tableBody);
    const state = host.getState();
    if (isDashboardState(state)) {
      this.run = state.run;
      this.table.open = state.table;
    }
    this.table.addEventListener('toggle', () => { this.drawTable(); this.keep(); });
    onThemeChange(() => { this.charts.restyle(); });
    host.listen((message) => { if (isFromHost(message)) this.receive(message); });
    host.post({ type: 'ready', run: this.run });
  }

  private receive(message: DashboardFromHost): void {
    switch (message.type) {
      case 'snapshot': this.show(message.snapshot); break;
      case 'empty': this.empty(); break;
      case 'failed': this.fail(message.message); break;
    }
  }

  private show(snapshot: DashboardSnapshot): void {
    if (!this.body.isConnected) {
      replace(this.root, h('header', { class: 'panel-head' }, h('h1', {}, 'Run dashboard'), this.chooser, this.status, this.actions), this.banner, this.body);
    }
    this.snapshot = snapshot;
    this.run = snapshot.run.id;
    this.banner.textContent = '';
    this.drawChoices(snapshot);
    replace(this.status, badge(snapshot.status, snapshot.status === 'failed' ? 'bad' : 'plain'), h('span', { class: 'muted' }, stageWords(snapshot)));
    replace(
      this.actions,
      isResumable(snapshot.status) ? button('Resume run', () => { this.host.post({ type: 'resumeRun', run: snapshot.run.id }); }) : null,
      snapshot.live === null ? null : button('Cancel run', () => { this.host.post({ type: 'cancelRun' }); }),
      button('Failure taxonomy', () => { this.host.post({ type: 'taxonomy', run: snapshot.run.id }); }),
    );
    replace(this.summary, outcomeTable(snapshot), ledgerTable(snapshot));
    this.charts.update(snapshot.steps);
    this.drawTable();
    this.keep();
  }

  /** The list of runs is drawn again only when it changed: it may be open. */
  private drawChoices(snapshot: DashboardSnapshot): void {
    const choices = JSON.stringify(snapshot.runs);
    if (choices !== this.choices) {
      this.choices = choices;
      replace(this.chooser, ...snapshot.runs.map((run) => option(run.id, run.title)));
    }
    this.chooser.value = snapshot.run.id;
  }

  private drawTable(): void {
    if (this.table.open && this.snapshot !== null) replace(this.tableBody, ...stepTable(this.snapshot));
  }

  private empty(): void {
    replace(
      this.root,
      h('div', { class: 'welcome' }, h('h1', {}, 'No run yet'), h('p', { class: 'muted' }, 'A run evaluates the team, trains it and evaluates it again. Its charts appear here while it goes on.'), button('Start C3 run', () => { this.host.post({ type: 'startRun' }); }, { primary: true })),
    );
  }

  private fail(message: string): void {
    this.banner.textContent = message;
    if (!this.banner.isConnected) replace(this.root, this.banner);
  }

  private choose(run: string): void {
    if (run === this.run) return;
    this.run = run;
    this.host.post({ type: 'choose', run });
  }

  private keep(): void {
    this.host.setState({ version: 1, run: this.run, table: this.table.open });
  }
}
