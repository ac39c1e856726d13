/**
 * The runs table. It can be sorted and searched, shows the settings in which the runs differ, and has
 * check boxes to choose the runs that the dashboard compares.
 */

import { NO_CHOICE, type ColumnChoice } from '../../src/shared/protocols/columnChoice.ts';
import {
  isRunsTableState,
  listSettingKeys,
  sortRunRows,
  readSortValue,
  type RunsTableFromHost,
  type RunsTableToHost,
  type RunTableRow,
} from '../../src/shared/protocols/runsTable.ts';
import { showInvisibleControls } from '../../src/shared/text/visible.ts';
import { ColumnChooser } from '../common/columnChooser.ts';
import { h, icon, linkButton, redrawWithFocus, replace } from '../common/dom.ts';
import { count } from '../common/format.ts';
import type { Host } from '../common/host.ts';
import { createTextNodes } from '../common/shownText.ts';
import { button } from '../common/toolkit.ts';
import { describeChosen } from './chosenRuns.ts';
import { COST_COLUMNS, OUTCOME_COLUMNS, OWN_COLUMNS, settingColumn, type TableColumn } from './columns.ts';

const TITLE: TableColumn = {
  name: 'title',
  title: 'Run',
  meaning: 'The title of the run; opens its episodes',
  numeric: false,
  descending: false,
  cell: ({ title }) => title,
};

export class RunsTablePanel {
  private readonly host: Host<RunsTableToHost>;
  private readonly field = h('input', {
    type: 'search',
    class: 'search-field',
    placeholder: 'Search runs and settings',
    'aria-label': 'Search runs and settings',
    maxlength: 200,
    spellcheck: 'false',
  });
  private readonly chooser: ColumnChooser;
  private choice: ColumnChoice = NO_CHOICE;
  private readonly listed = h('span', { class: 'muted', role: 'status' });
  private readonly compare = button(
    'Compare in dashboard',
    () => this.host.post({ type: 'compare', runs: this.chosenRuns() }),
    { primary: true },
  );
  private readonly chosenWords = h('span', { class: 'muted' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly head = h('thead');
  private readonly bodyRows = h('tbody');
  private readonly scroller: HTMLElement;
  private readonly empty: HTMLElement;
  private rows: readonly RunTableRow[] = [];
  private omitted = 0;
  private column = 'createdAt';
  private descending = true;
  private chosen = new Set<string>();
  private known = false;

  constructor(root: HTMLElement, host: Host<RunsTableToHost>) {
    this.host = host;
    const state = host.getState();
    if (isRunsTableState(state)) {
      ({ column: this.column, descending: this.descending } = state);
      this.field.value = state.search;
      this.chosen = new Set(state.chosen);
    }
    this.field.addEventListener('input', () => this.draw());
    this.chooser = new ColumnChooser((columns) => {
      this.choice = columns;
      host.post({ type: 'columns', columns });
      this.draw();
    });
    const csv = linkButton(
      () => host.post({ type: 'saveCsv', runs: this.listedRows().map(({ id }) => id) }),
      { title: 'Save the listed runs, with all settings, as comma-separated values' },
      'CSV',
    );
    this.scroller = h(
      'div',
      { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': 'Runs' },
      h('table', { 'aria-label': 'Runs and their settings' }, this.head, this.bodyRows),
    );
    this.scroller.addEventListener('keydown', (event) => this.onKey(event));
    this.empty = h(
      'div',
      { class: 'welcome' },
      h('h2', {}, 'No runs yet'),
      h('p', { class: 'muted' }, 'Each run is a row here, with the settings in which it differs from the others.'),
      button('Start C3 run', () => host.post({ type: 'startRun' }), { primary: true }),
    );
    this.empty.hidden = true;
    replace(
      root,
      h(
        'header',
        { class: 'panel-head' },
        h('h1', { class: 'for-readers' }, 'Runs table'),
        this.field,
        this.listed,
        h('span', { class: 'push actions' }, this.chooser.element, csv, this.chosenWords, this.compare),
      ),
      this.banner,
      this.empty,
      this.scroller,
    );
    host.listen<RunsTableFromHost>({
      runs: (message) => this.take(message),
      failed: ({ message }) => {
        this.banner.textContent = message;
      },
    });
    host.post({ type: 'ready' });
  }

  private take(message: Extract<RunsTableFromHost, { type: 'runs' }>): void {
    this.banner.textContent = '';
    this.rows = message.rows;
    this.omitted = message.omitted;
    this.choice = message.columns;
    const ids = new Set(message.rows.map(({ id }) => id));
    for (const id of this.chosen) {
      if (!ids.has(id)) {
        this.chosen.delete(id);
      }
    }
    if (!this.known) {
      this.known = true;
      if (this.chosen.size === 0 && message.selected !== null) {
        this.chosen.add(message.selected);
      }
    }
    this.draw();
  }

  private draw(): void {
    const { differing, all } = listSettingKeys(this.rows);
    const own = [...OUTCOME_COLUMNS, ...OWN_COLUMNS];
    const columns = [
      TITLE,
      ...this.chosenColumns([
        ...own.map((column) => ({ ...column, usual: this.isFilled(column) })),
        ...all.map((key) => ({ ...settingColumn(key), usual: differing.includes(key) })),
        ...COST_COLUMNS.map((column) => ({ ...column, usual: this.isFilled(column) })),
      ]),
    ];
    const shown = this.listedRows();
    this.empty.hidden = this.rows.length > 0;
    this.scroller.hidden = this.rows.length === 0;
    this.compare.hidden = this.rows.length === 0;
    const runs = this.rows.length === 1 ? 'run' : 'runs';
    this.listed.textContent =
      this.rows.length === 0
        ? ''
        : `${shown.length === this.rows.length ? '' : `${count(shown.length)} of `}${count(this.rows.length)} ${runs}${this.omitted > 0 ? `, ${count(this.omitted)} older ones left out` : ''}, ${count(differing.length)} ${differing.length === 1 ? 'setting differs' : 'settings differ'}`;
    redrawWithFocus(this.scroller, () => {
      replace(
        this.head,
        h(
          'tr',
          {},
          h('th', { scope: 'col', class: 'choose' }, h('span', { class: 'for-readers' }, 'Compare')),
          ...columns.map((column) => this.headOf(column)),
        ),
      );
      replace(this.bodyRows, ...shown.map((row) => this.rowOf(row, columns)));
    });
    this.markChosen();
  }

  /** Returns true if at least one run has a value in the column. */
  private isFilled({ name }: TableColumn): boolean {
    return this.rows.length === 0 || this.rows.some((row) => readSortValue(row, name) !== null);
  }

  private chosenColumns(columns: readonly (TableColumn & { readonly usual: boolean })[]): readonly TableColumn[] {
    this.chooser.update(columns, this.choice);
    return columns.filter((column) => this.chooser.isShown(column));
  }

  /** Returns the sorted runs that contain every word of the search. */
  private listedRows(): readonly RunTableRow[] {
    const words = this.field.value
      .toLocaleLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== '');
    return sortRunRows(this.rows, this.column, this.descending).filter((row) =>
      words.every((word) => joinSearchText(row).includes(word)),
    );
  }

  private headOf(column: TableColumn): HTMLElement {
    const sorted = column.name === this.column;
    const name = h(
      'button',
      {
        type: 'button',
        class: 'head-button',
        title: `${column.meaning}. Sort by it.`,
        'data-key': `head:${column.name}`,
      },
      showInvisibleControls(column.title),
      sorted
        ? h(
            'span',
            { class: this.descending ? 'sort-arrow down' : 'sort-arrow', 'aria-hidden': 'true' },
            icon('chevron'),
          )
        : null,
    );
    name.addEventListener('click', () => {
      this.descending = sorted ? !this.descending : column.descending;
      this.column = column.name;
      this.draw();
    });
    return h(
      'th',
      {
        scope: 'col',
        class: `${column.numeric ? 'number' : ''} column-${column.name.startsWith('setting:') ? 'setting' : column.name}`,
        'aria-sort': sorted ? (this.descending ? 'descending' : 'ascending') : 'none',
      },
      name,
    );
  }

  private rowOf(row: RunTableRow, columns: readonly TableColumn[]): HTMLElement {
    // The rows are redrawn with each letter of a search. 500 boxes of the toolkit take 0.8 s, these 0.1 s.
    const box = h('input', {
      type: 'checkbox',
      'aria-label': `Compare ${showInvisibleControls(row.title)}`,
      'data-key': `box:${row.id}`,
    });
    box.checked = this.chosen.has(row.id);
    box.addEventListener('change', () => {
      if (box.checked) {
        this.chosen.add(row.id);
      } else {
        this.chosen.delete(row.id);
      }
      this.markChosen();
    });
    const open = linkButton(
      () => this.host.post({ type: 'episodes', run: row.id }),
      {
        title: `Open the episodes of ${showInvisibleControls(row.title)}${row.note === '' ? '' : `\n\n${showInvisibleControls(row.note)}`}`,
        'data-key': `run:${row.id}`,
      },
      ...createTextNodes(row.title),
    );
    return h(
      'tr',
      { 'data-run': row.id },
      h('td', { class: 'choose' }, box),
      h('th', { scope: 'row', class: 'column-title' }, open),
      ...columns.slice(1).map((column) => h('td', { class: column.numeric ? 'number' : '' }, column.cell(row))),
    );
  }

  /** Returns the chosen runs in the order in which they are listed. */
  private chosenRuns(): readonly string[] {
    return sortRunRows(this.rows, this.column, this.descending)
      .map(({ id }) => id)
      .filter((id) => this.chosen.has(id));
  }

  private markChosen(): void {
    const { words, possible } = describeChosen(this.chosen.size);
    this.compare.toggleAttribute('disabled', !possible);
    this.chosenWords.textContent = words;
    for (const row of this.bodyRows.querySelectorAll<HTMLElement>('tr')) {
      row.classList.toggle('chosen', this.chosen.has(row.dataset['run'] ?? ''));
    }
    if (this.known) {
      this.host.setState({
        version: 1,
        column: this.column,
        descending: this.descending,
        search: this.field.value,
        chosen: [...this.chosen],
      });
    }
  }

  /** Handles keys: Up and Down move between check boxes or links, `/` goes to the search. */
  private onKey(event: KeyboardEvent): void {
    if (event.key === '/' && !(event.target instanceof HTMLInputElement && event.target.type === 'search')) {
      event.preventDefault();
      this.field.focus();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const key = event.target instanceof Element ? event.target.getAttribute('data-key') : null;
    if (step === undefined || key === null || key.startsWith('head:')) {
      return;
    }
    const kind = key.slice(0, key.indexOf(':') + 1);
    const all = [...this.bodyRows.querySelectorAll<HTMLElement>(`[data-key^="${kind}"]`)];
    const next = all[all.findIndex((element) => element.dataset['key'] === key) + step];
    if (next === undefined) {
      return;
    }
    event.preventDefault();
    next.focus();
  }
}

function joinSearchText({ title, tags, note, method, status, id, settings }: RunTableRow): string {
  return [
    title,
    ...tags,
    note,
    method,
    status,
    id,
    ...Object.entries(settings).map(([key, value]) => `${key}=${value}`),
  ]
    .join('\n')
    .toLocaleLowerCase();
}
