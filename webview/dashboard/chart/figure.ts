/**
 * One chart with its name, its newest value, its table and its copies. By keyboard: Tab reaches it, arrows move along
 * its points, Enter opens one.
 */
import { h, replace } from '../../common/dom.ts';
import type { FigureSpec } from '../figures.ts';
import { plainTitle, type View } from '../view.ts';
import { csvOf } from './dataTable.ts';
import { DataTableView } from './dataTableView.ts';
import { lastPlace, moved, pointAt, type Line, type Place, type Target } from './lines.ts';
import { logged } from './logScale.ts';
import { copyPicture, pictureOf } from './picture.ts';
import { Plot, type Drawn } from './plot.ts';

/** What a figure asks of the panel around it. */
export interface FigureDoors {
  /** Says something to who cannot see it. */
  readonly announce: (words: string) => void;
  /** Somebody reads here, so the view holds still; or no longer does. */
  readonly reading: (figure: string, on: boolean) => void;
  readonly open: (target: Target) => void;
  readonly copyText: (text: string) => void;
  readonly tableToggled: () => void;
}

export class Figure {
  readonly element: HTMLElement;
  private readonly spec: FigureSpec;
  private readonly doors: FigureDoors;
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

  constructor(spec: FigureSpec, doors: FigureDoors, tableOpen: boolean) {
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
    this.tableButton = tool('Table', `Table of ${spec.title}`, () => this.openTable(!this.tableOpen));
    const tools = h(
      'span',
      { class: 'tools' },
      this.tableButton,
      tool('CSV', `Copy ${spec.title} as CSV`, () => this.copyTable()),
      tool('PNG', `Copy ${spec.title} as PNG`, () => void this.copyPicture()),
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
    const { lines, scales, note } = logged(this.spec.lines(view, asked.axis), asked.scales);
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

  /** Whether the chart is where it can be seen; one that cannot is drawn when it comes there. */
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

  /** Nobody can read it any more. */
  leave(): void {
    this.doors.reading(this.spec.id, false);
  }

  private listen(): void {
    const { frame } = this;
    frame.addEventListener('focus', () => {
      // The page scrolls to it now.
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
    if (event.ctrlKey || event.metaKey || event.altKey) {
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
    const to = from === null ? undefined : moved(this.lines, from, event.key);
    if (to === undefined) {
      return;
    }
    event.preventDefault();
    // The first arrow shows where it starts from.
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
      named ? h('strong', {}, `${line.label} `, h('bdi', {}, plainTitle(line.name))) : null,
      ...words.map((part) => h('bdi', {}, plainTitle(part))),
    );
    this.putTip(place);
    if (announced) {
      this.doors.announce([...(named ? [line.label] : []), ...words].join(', '));
    }
  }

  /** Beside the point, on the side that has room. */
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
    this.doors.copyText(csvOf(table));
    this.doors.announce(`${this.spec.title}: ${table.rows.length} rows copied as CSV`);
  }

  private async copyPicture(): Promise<void> {
    const { title } = this.spec;
    try {
      this.seen(true);
      await copyPicture(pictureOf(this.plot, title, this.lines));
      this.doors.announce(`${title}: copied as PNG`);
    } catch (error) {
      this.doors.announce(
        `${title} could not be copied as PNG: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}

function tool(label: string, name: string, onClick: () => void): HTMLButtonElement {
  const element = h('button', { type: 'button', class: 'tool', 'aria-label': name, title: name }, label);
  element.addEventListener('click', onClick);
  return element;
}
