/**
 * A chart with its title, newest value, table and copies. Keyboard: Tab reaches it, the arrow keys
 * move along its points, and Enter opens a point.
 */

import { h, replace } from '../../common/dom.ts';
import { hasModifier } from '../../common/keyBindings.ts';
import { readThemeValue } from '../../common/theme.ts';
import type { FigureSpec } from '../figures.ts';
import { toPlainTitle, type View } from '../view.ts';
import { formatTableAsCsv, type DataRow, type DataTable } from './dataTable.ts';
import { lastPlace, placeAfterKey, pointAt, type Line, type Place, type Target } from './lines.ts';
import { toLogLines } from './logScale.ts';
import { chooseLook } from './looks.ts';
import { Plot, type Drawn } from './plot.ts';

/** Calls from a figure to its panel. */
export interface FigureEvents {
  /** Announces text to screen readers. */
  readonly announce: (words: string) => void;
  /** Holds the view while the user reads this figure, or no longer. */
  readonly reading: (figure: string, on: boolean) => void;
  readonly open: (target: Target) => void;
  readonly copyText: (text: string) => void;
  readonly tableToggled: () => void;
}

export class Figure {
  readonly element: HTMLElement;
  private readonly spec: FigureSpec;
  private readonly doors: FigureEvents;
  private readonly plot: Plot;
  private readonly frame: HTMLElement;
  private readonly tip = h('div', { class: 'tip', hidden: true, 'aria-hidden': 'true' });
  private readonly nothing: HTMLElement;
  private readonly latest = h('span', { class: 'latest' });
  private readonly note = h('p', { class: 'note muted' });
  private readonly tableButton: HTMLButtonElement;
  private readonly table: DataTableView;
  private view: View | null = null;
  private lines: readonly Line[] = [];
  private active: Place | null = null;
  private drawn: Drawn = { smoothing: 'automatic', axis: 'step', scales: { x: false, y: false } };
  private visible = false;
  private stale = false;

  constructor(spec: FigureSpec, doors: FigureEvents, tableOpen: boolean) {
    this.spec = spec;
    this.doors = doors;
    this.plot = new Plot(spec);
    this.table = new DataTableView(spec.title, doors.open);
    this.nothing = h('p', { class: 'nothing muted', hidden: true }, spec.nothing);
    this.frame = h(
      'div',
      { class: 'chart', tabindex: 0, role: 'application', 'aria-roledescription': 'chart' },
      this.plot.element,
      this.nothing,
      this.tip,
    );
    this.tableButton = createTool('Table', `Table of ${spec.title}`, () => this.openTable(!this.tableOpen));
    const tools = h(
      'span',
      { class: 'tools' },
      this.tableButton,
      createTool('CSV', `Copy ${spec.title} as CSV`, () => this.copyTable()),
      createTool('PNG', `Copy ${spec.title} as PNG`, () => void this.copyPicture()),
    );
    this.element = h(
      'figure',
      { 'aria-label': spec.title },
      h('figcaption', {}, h('span', { class: 'name' }, spec.title), this.latest, tools),
      this.frame,
      this.note,
      this.table.element,
    );
    this.openTable(tableOpen, false);
    this.listen();
  }

  get tableOpen(): boolean {
    return !this.table.element.hidden;
  }

  show(view: View, all: Drawn): void {
    const asked: Drawn =
      this.spec.ownAxis === true ? { ...all, axis: 'step', scales: { ...all.scales, x: false } } : all;
    this.view = view;
    const { lines, scales, note } = toLogLines(this.spec.lines(view, asked.axis), asked.scales);
    this.lines = lines;
    this.drawn = { ...asked, scales };
    const size = this.plot.smoothed(this.lines, asked.smoothing);
    this.stale = true;
    this.drawWhenSeen();
    this.note.textContent = [
      this.spec.note,
      note,
      size === null
        ? null
        : `The line is the mean of ${size} steps${this.lines.length > 1 ? '' : '; the faint line is each step'}.`,
    ]
      .filter((part) => part !== null)
      .join(' ');
    const empty = this.lines.every(({ points }) => points.length === 0);
    this.nothing.hidden = !empty;
    this.plot.element.classList.toggle('empty-chart', empty);
    this.latest.textContent = this.spec.latest(view);
    const points = this.lines.reduce((sum, line) => sum + line.points.length, 0);
    this.frame.setAttribute(
      'aria-label',
      `${this.spec.title}, ${empty ? this.spec.nothing : `${points} points, newest ${this.spec.latest(view)}. Arrow keys move along the points, Enter opens one.`}`,
    );
    if (this.tableOpen) {
      this.table.show(this.spec.table(view, asked.axis), view.runs.map(({ record }) => record.id).join(' '));
    }
    if (pointAt(this.lines, this.active) === null) {
      this.look(null);
    } else {
      this.look(this.active);
    }
  }

  restyle(): void {
    this.stale = true;
    this.drawWhenSeen();
  }

  /** Handles that the chart came into view or left it. Charts out of view are drawn later. */
  seen(on: boolean): void {
    this.visible = on;
    this.drawWhenSeen();
  }

  private drawWhenSeen(): void {
    if (!this.visible || !this.stale) {
      return;
    }
    this.stale = false;
    this.plot.draw(this.lines, this.drawn);
  }

  /** Handles that the figure was removed, so that it no longer holds the view. */
  leave(): void {
    this.doors.reading(this.spec.id, false);
  }

  private listen(): void {
    const { frame } = this;
    frame.addEventListener('focus', () => {
      // The page scrolls to the focused chart.
      this.seen(true);
      this.doors.reading(this.spec.id, true);
      if (frame.matches(':focus-visible')) {
        this.look(this.active ?? lastPlace(this.lines), true);
      }
    });
    frame.addEventListener('blur', () => {
      this.look(null);
      this.doors.reading(this.spec.id, frame.matches(':hover'));
    });
    frame.addEventListener('pointerenter', () => this.doors.reading(this.spec.id, true));
    frame.addEventListener('pointermove', ({ clientX, clientY }) => {
      const { left, top } = this.plot.element.getBoundingClientRect();
      this.look(this.plot.nearest(clientX - left, clientY - top));
    });
    frame.addEventListener('pointerleave', () => {
      this.look(null);
      this.doors.reading(this.spec.id, frame.matches(':focus'));
    });
    frame.addEventListener('click', () => this.openActive());
    frame.addEventListener('keydown', (event) => this.press(event));
  }

  private press(event: KeyboardEvent): void {
    if (hasModifier(event)) {
      return;
    }
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.openActive();
      return;
    }
    if (event.key === 'Escape') {
      this.look(null);
      return;
    }
    const from = this.active ?? lastPlace(this.lines);
    const to = from === null ? undefined : placeAfterKey(this.lines, from, event.key);
    if (to === undefined) {
      return;
    }
    event.preventDefault();
    // The first arrow key only shows the starting point.
    this.look(this.active === null && event.key.startsWith('Arrow') ? from : to, true);
  }

  private openActive(): void {
    const point = pointAt(this.lines, this.active);
    if (point !== null) {
      this.doors.open(point.target);
    }
  }

  private look(place: Place | null, announced = false): void {
    if (place === null && this.active === null) {
      return;
    }
    this.active = place;
    this.plot.look(place);
    const point = pointAt(this.lines, place);
    this.tip.hidden = point === null;
    if (point === null || place === null) {
      return;
    }
    const line = this.lines[place.line];
    const words = point.words();
    const named = this.lines.length > 1 && line !== undefined;
    replace(
      this.tip,
      named ? h('strong', {}, `${line.label} `, h('bdi', {}, toPlainTitle(line.name))) : null,
      ...words.map((part) => h('bdi', {}, toPlainTitle(part))),
    );
    this.putTip(place);
    if (announced) {
      this.doors.announce([...(named ? [line.label] : []), ...words].join(', '));
    }
  }

  /** Places the tooltip beside the point, on the side with room. */
  private putTip(place: Place): void {
    const at = this.plot.placeOf(place);
    if (at === null) {
      return;
    }
    const { offsetWidth: width, offsetHeight: height } = this.frame;
    const right = at.left < width / 2;
    this.tip.style.left = `${right ? at.left + 12 : Math.max(0, at.left - 12 - this.tip.offsetWidth)}px`;
    this.tip.style.top = `${Math.max(0, Math.min(at.top - this.tip.offsetHeight / 2, height - this.tip.offsetHeight))}px`;
  }

  private openTable(open: boolean, notify = true): void {
    this.table.element.hidden = !open;
    this.tableButton.setAttribute('aria-expanded', String(open));
    if (open && this.view !== null) {
      this.table.show(
        this.spec.table(this.view, this.drawn.axis),
        this.view.runs.map(({ record }) => record.id).join(' '),
      );
    }
    if (notify) {
      this.doors.tableToggled();
    }
  }

  private copyTable(): void {
    if (this.view === null) {
      return;
    }
    const table = this.spec.table(this.view, this.drawn.axis);
    this.doors.copyText(formatTableAsCsv(table));
    this.doors.announce(`${this.spec.title}: ${table.rows.length} rows copied as CSV`);
  }

  private async copyPicture(): Promise<void> {
    const { title } = this.spec;
    try {
      this.seen(true);
      await copyPicture(drawPicture(this.plot, title, this.lines));
      this.doors.announce(`${title}: copied as PNG`);
    } catch (error) {
      this.doors.announce(
        `${title} could not be copied as PNG: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}

function createTool(label: string, name: string, onClick: () => void): HTMLButtonElement {
  const element = h('button', { type: 'button', class: 'tool', 'aria-label': name, title: name }, label);
  element.addEventListener('click', onClick);
  return element;
}

// The table of a chart. New rows are appended, in parts if many; other changes redraw it.

const ROWS_AT_ONCE = 250;

class DataTableView {
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

  /** @param runs a key that changes when the rows are of other runs */
  show(table: DataTable, runs: string): void {
    const key = JSON.stringify([runs, table.columns]);
    const kept =
      key === this.key &&
      table.rows.length >= this.drawn.length &&
      this.drawn.every((row, index) => isSameRow(row, table.rows[index]))
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

  /** Adds some rows now and the others later, because thousands at once would block the page. */
  private add(): void {
    const { table, drawn } = this;
    const labels = table.columns.findIndex(({ name }) => name === 'Step' || name === 'Evaluation' || name === 'Method');
    const next = table.rows.slice(drawn.length, drawn.length + ROWS_AT_ONCE);
    this.body.append(...next.map((row) => createDataRow(row, table, Math.max(0, labels))));
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

const isSameRow = (a: DataRow, b: DataRow | undefined): boolean =>
  b !== undefined && a.cells.every(({ raw }, index) => raw === b.cells[index]?.raw);

/**
 * Creates a row. The button in its header cell opens the target of the row. It is no tab stop, because
 * there may be thousands, and the chart above gives access by keyboard.
 */
function createDataRow({ cells }: DataRow, { columns }: DataTable, named: number): HTMLElement {
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

// Copies a chart as a picture with its title and legend.

const SCALE = 2;
const MARGIN = 12;
const ROW = 18;

/** Draws a chart for copying. @param lines lines for the legend, which needs at least two labels */
function drawPicture(plot: Plot, title: string, lines: readonly Line[]): HTMLCanvasElement {
  const page = document.createElement('canvas');
  const legend = lines.filter(({ label }) => label !== '');
  const rows = legend.length < 2 ? [] : legend;
  plot.picture(SCALE, (chart, width, height) => {
    page.width = SCALE * (width + 2 * MARGIN);
    page.height = SCALE * (height + 2 * MARGIN + ROW * (1 + rows.length));
    const ctx = page.getContext('2d');
    if (ctx === null) {
      return;
    }
    ctx.scale(SCALE, SCALE);
    ctx.fillStyle = readThemeValue('--vscode-editor-background');
    ctx.fillRect(0, 0, page.width, page.height);
    ctx.textBaseline = 'middle';
    ctx.fillStyle = readThemeValue('--vscode-foreground');
    ctx.font = `600 13px ${readThemeValue('--vscode-font-family')}`;
    ctx.fillText(toPlainTitle(title), MARGIN, MARGIN + ROW / 2, width);
    ctx.drawImage(chart, MARGIN, MARGIN + ROW, width, height);
    ctx.font = `12px ${readThemeValue('--vscode-font-family')}`;
    rows.forEach(({ label, name, look }, index) => {
      const y = MARGIN + ROW * (1.5 + index) + height;
      ctx.strokeStyle = readThemeValue(chooseLook(look).colour);
      ctx.lineWidth = 2;
      ctx.setLineDash([...chooseLook(look).dashes]);
      ctx.beginPath();
      ctx.moveTo(MARGIN, y);
      ctx.lineTo(MARGIN + 32, y);
      ctx.stroke();
      ctx.fillText(toPlainTitle(`${label}  ${name}`), MARGIN + 40, y, width - 40);
    });
  });
  return page;
}

/** Puts a picture on the clipboard. Rejects if the editor's window does not allow it. */
async function copyPicture(page: HTMLCanvasElement): Promise<void> {
  const blob = new Promise<Blob>((resolve, reject) => {
    page.toBlob((made) => {
      if (made === null) {
        reject(new Error('the picture could not be drawn'));
      } else {
        resolve(made);
      }
    }, 'image/png');
  });
  await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
}
