/**
 * The table behind a chart. Rows that were added are added, many of them in parts; it is drawn anew only when something
 * else changed.
 */
import { h, replace } from '../../common/dom.ts';
import type { DataRow, DataTable } from './dataTable.ts';
import type { Target } from './lines.ts';

const ROWS_AT_ONCE = 250;

export class DataTableView {
  readonly element: HTMLElement;
  private readonly title: string;
  private readonly open: (target: Target) => void;
  private body = h('tbody');
  private drawn: readonly DataRow[] = [];
  private table: DataTable = { columns: [], rows: [] };
  private key = '';
  private adding: number | null = null;

  constructor(title: string, open: (target: Target) => void) {
    this.title = title;
    this.open = open;
    this.element = h('div', {
      class: 'data',
      hidden: true,
      role: 'region',
      'aria-label': `Table of ${title}`,
      tabindex: 0,
    });
    this.element.addEventListener('click', (event) => {
      const row = event.target instanceof Element ? event.target.closest('button.leads')?.closest('tr') : null;
      const target = row instanceof HTMLTableRowElement ? this.drawn[row.sectionRowIndex]?.target : undefined;
      if (target !== undefined) {
        this.open(target);
      }
    });
  }

  /** @param runs another text whenever the rows are those of other runs */
  show(table: DataTable, runs: string): void {
    const key = JSON.stringify([runs, table.columns]);
    const kept =
      key === this.key &&
      table.rows.length >= this.drawn.length &&
      this.drawn.every((row, index) => same(row, table.rows[index]))
        ? this.drawn.length
        : 0;
    if (kept === 0) {
      this.key = key;
      this.body = h('tbody');
      const head = h(
        'tr',
        {},
        ...table.columns.map(({ name, numeric }) => h('th', { scope: 'col', class: numeric ? 'number' : null }, name)),
      );
      replace(
        this.element,
        h('table', {}, h('caption', { class: 'for-readers' }, this.title), h('thead', {}, head), this.body),
      );
    }
    this.drawn = table.rows.slice(0, kept);
    this.table = table;
    if (this.adding === null) {
      this.add();
    }
  }

  /** Adds some rows, and the others later: thousands at once would hold the page up. */
  private add(): void {
    const { table, drawn } = this;
    const labels = table.columns.findIndex(({ name }) => name === 'Step' || name === 'Evaluation' || name === 'Method');
    const next = table.rows.slice(drawn.length, drawn.length + ROWS_AT_ONCE);
    this.body.append(...next.map((row) => rowOf(row, table, Math.max(0, labels))));
    this.drawn = [...drawn, ...next];
    this.adding =
      this.drawn.length < table.rows.length
        ? window.setTimeout(() => {
            this.adding = null;
            this.add();
          })
        : null;
  }
}

const same = (a: DataRow, b: DataRow | undefined): boolean =>
  b !== undefined && a.cells.every(({ raw }, index) => raw === b.cells[index]?.raw);

/**
 * The cell that names the row leads to what it represents. Not a tab stop: thousands of rows have one, and the chart
 * above leads there by keyboard.
 */
function rowOf({ cells }: DataRow, { columns }: DataTable, named: number): HTMLElement {
  return h(
    'tr',
    {},
    ...cells.map(({ text, raw }, index) => {
      const kind = [columns[index]?.numeric === true ? 'number' : '', raw === null ? 'muted' : ''].join(' ').trim();
      return index === named
        ? h(
            'th',
            { scope: 'row', class: kind },
            h('button', { type: 'button', class: 'link leads', tabindex: -1 }, text),
          )
        : h('td', { class: kind }, columns[index]?.numeric === true ? text : h('bdi', {}, text));
    }),
  );
}
