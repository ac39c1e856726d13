/** The grid of problems. It is one tab stop and draws only the rows in view. */

import type { ProblemSort } from '../../src/domain/problem.ts';
import {
  NO_PLACE,
  PROBLEM_WINDOW,
  type ProblemLayout,
  type ProblemPlace,
  type ShownProblem,
} from '../../src/shared/protocols/episodesProtocol.ts';
import { h } from '../common/dom.ts';
import { findBoundCommand, isMove, placeAfter, type MoveCommand } from '../common/keyBindings.ts';
import { oncePerFrame } from '../common/rest.ts';
import { markFirstRows, RowScroll } from '../common/rowScroll.ts';
import { RowWindows } from '../common/rowWindows.ts';
import { COLUMNS, type Column } from './columns.ts';
import { GRID_KEYS, type GridCommand } from './keys.ts';
import { Heads, ROW_HEIGHT, rowElement, rowId, findRowUnder, waitingElement } from './rows.ts';

/** Number of rows drawn above and below the view. */
const MARGIN = 12;
/** Pixels between two columns, and beside the outer columns. The same values are in grid.css. */
const GAP = 8;
const PADDING = 20;
/** Number of windows of rows kept. */
const WINDOWS_KEPT = 48;

export class Grid {
  readonly element: HTMLElement;
  private readonly canvas = h('div', { class: 'canvas', role: 'rowgroup' });
  private readonly heads: Heads;
  private readonly headGroup: HTMLElement;
  private readonly windows: RowWindows<ShownProblem>;
  private readonly scroll: RowScroll;
  private readonly drawSoon = oncePerFrame(() => this.draw());
  private readonly events: GridEvents;
  private readonly drawn = new Map<number, HTMLElement>();
  private rows = 0;
  private columns: readonly Column[] = [];
  private tracks = '';
  private readonly selection = new Selection();
  /** True while the rows on screen are of the previous order, until the new rows are here. */
  private holding = false;
  /** Scroll position when holding began, in pixels. */
  private heldAt = 0;
  /** True while a requested order is not here yet. Keys then refer to that order. */
  private expecting = false;
  /** Index of the row that keys have selected in the requested order. */
  private ahead = 0;
  /** The problem that each row on screen shows. */
  private readonly shown = new WeakMap<Element, ShownProblem>();
  /** A command to open a row that is not here yet. */
  private due: { readonly index: number; readonly beside: boolean } | null = null;

  constructor(events: GridEvents) {
    this.events = events;
    this.windows = new RowWindows(PROBLEM_WINDOW, WINDOWS_KEPT, (revision, offset) => events.ask(revision, offset));
    this.heads = new Heads(
      (sort) => events.sort(sort),
      () => this.element.focus(),
    );
    this.headGroup = h('div', { class: 'head-group', role: 'rowgroup' }, this.heads.element);
    this.element = h(
      'div',
      { class: 'grid', role: 'grid', tabindex: 0, 'aria-label': 'Problems of the run' },
      this.headGroup,
      this.canvas,
    );
    this.scroll = new RowScroll(this.element, {
      rowHeight: ROW_HEIGHT,
      margin: MARGIN,
      headHeight: () => this.heads.element.offsetHeight,
    });
    this.element.addEventListener('scroll', () => this.onScroll());
    this.element.addEventListener('keydown', (event) => this.onKey(event));
    this.element.addEventListener('click', ({ target }) => this.onClick(target));
    this.element.addEventListener('dblclick', ({ target }) => this.onDoubleClick(target));
    this.show(COLUMNS);
    new ResizeObserver(() => this.schedule()).observe(this.element);
  }

  /** Shows these columns and redraws the rows on screen. */
  show(columns: readonly Column[]): void {
    if (columns.length === this.columns.length && columns.every((column, place) => column === this.columns[place])) {
      return;
    }
    this.columns = columns;
    this.heads.show(columns);
    this.element.setAttribute('aria-colcount', String(columns.length));
    this.tracks = columns.map(({ width }) => width).join(' ');
    this.heads.element.style.gridTemplateColumns = this.tracks;
    const least = `${columns.reduce((sum, column) => sum + column.least + GAP, PADDING)}px`;
    this.headGroup.style.minWidth = least;
    this.canvas.style.minWidth = least;
    for (const [index, element] of this.drawn) {
      element.remove();
      this.drawn.delete(index);
    }
    this.schedule();
  }

  /** Begins to wait for another order, shown from its top. Keys refer to that order from now on. */
  expect(): void {
    this.expecting = true;
    this.ahead = 0;
    this.due = null;
    this.selection.forget();
  }

  /** Begins to wait for the list of another run, shown from its top. */
  restart(): void {
    if (!this.expecting) {
      this.expect();
    }
  }

  /**
   * Shows another order. The rows in view stay in place, and old rows stay until the new ones are here.
   * @param asked true if this is the order that was requested last
   */
  layout(layout: ProblemLayout, place: ProblemPlace, asked: boolean): void {
    const awaited = asked && this.expecting;
    this.heads.update(layout.sort);
    if (awaited) {
      this.expecting = false;
      this.selection.start(this.ahead, layout.rows);
    } else if (!this.expecting) {
      this.follow(layout);
    }
    this.windows.reset(layout.revision);
    this.rows = layout.rows;
    this.element.setAttribute('aria-rowcount', String(layout.rows + 1));
    this.canvas.style.height = `${layout.rows * ROW_HEIGHT}px`;
    const from = this.element.scrollTop;
    if (place.top === null) {
      this.element.scrollTop = 0;
    } else if (layout.top !== null) {
      this.element.scrollTop = layout.top * ROW_HEIGHT + place.offset;
    }
    if (awaited) {
      this.scroll.toPlace(this.active);
    }
    this.holding = this.drawn.size > 0;
    this.heldAt = this.element.scrollTop;
    const shift = this.heldAt - from;
    if (this.holding && shift !== 0) {
      for (const element of this.drawn.values()) {
        element.style.translate = `0 ${shift}px`;
      }
    }
    if (asked && this.due !== null) {
      this.due = layout.rows === 0 ? null : { ...this.due, index: this.active };
    }
    this.schedule();
  }

  private follow(layout: ProblemLayout): void {
    const listed = this.selection.follow(
      layout,
      (row) => this.windows.peek(row)?.id,
      (problem) =>
        this.holding ? undefined : [...this.drawn].find(([, element]) => this.shown.get(element)?.id === problem)?.[0],
    );
    // The problem no longer passes the filters, and the user did not mean the one that takes its row.
    if (!listed) {
      this.due = null;
    }
  }

  private choose(problem: number): void {
    this.selection.choose(problem);
    this.events.choose(problem);
  }

  /** Takes rows that were requested. */
  accept(revision: number, offset: number, rows: readonly ShownProblem[]): void {
    if (!this.windows.accept(revision, offset, rows)) {
      return;
    }
    this.schedule();
    const row = this.windows.peek(this.active);
    const elsewhere = row === undefined ? null : this.selection.settle(row.id);
    if (elsewhere !== null) {
      this.choose(elsewhere);
    }
    if (this.waiting || this.due === null || this.due.index !== this.active || row === undefined) {
      return;
    }
    const { beside } = this.due;
    this.due = null;
    this.events.open(row, beside);
  }

  /** Handles a failure of the host. Missing rows are requested again when they are needed. */
  failed(): void {
    this.expecting = false;
    this.selection.forget();
    this.due = null;
    this.windows.forgetAsked();
  }

  /** The focused row and the first row in view. */
  get place(): ProblemPlace {
    const active = this.selection.elsewhere ?? this.windows.peek(this.active)?.id ?? null;
    if (this.scroll.top === 0) {
      return { ...NO_PLACE, active };
    }
    const { place, offset } = this.scroll.first;
    return { active, top: this.windows.peek(place)?.id ?? null, offset };
  }

  private get active(): number {
    return this.selection.index;
  }

  /** True while it is not known which row a key would open. */
  private get waiting(): boolean {
    return this.expecting || this.selection.waiting;
  }

  focus(): void {
    this.element.focus();
  }

  /** Schedules a redraw, for example because rows arrived. */
  schedule(): void {
    this.drawSoon();
  }

  /** Stops holding old rows, unless the new order itself caused the scrolling. */
  private onScroll(): void {
    if (this.holding && this.element.scrollTop !== this.heldAt) {
      this.clear();
    }
    this.schedule();
  }

  private clear(): void {
    this.canvas.replaceChildren();
    this.drawn.clear();
    this.holding = false;
  }

  private draw(): void {
    const { first, end } = this.scroll.drawn(this.rows);
    const wanted = new Map<number, ShownProblem | undefined>();
    for (let index = first; index < end; index++) {
      wanted.set(index, this.windows.get(index));
    }
    const complete = ![...wanted.values()].includes(undefined);
    if (this.holding && !complete) {
      return;
    }
    if (this.holding) {
      this.clear();
    }
    for (const [index, element] of this.drawn) {
      if (wanted.has(index)) {
        continue;
      }
      element.remove();
      this.drawn.delete(index);
    }
    for (const [index, row] of wanted) {
      this.drawRow(index, row);
    }
    if (this.drawn.has(this.active)) {
      this.element.setAttribute('aria-activedescendant', rowId(this.active));
    } else {
      this.element.removeAttribute('aria-activedescendant');
    }
    this.events.moved(this.rows === 0 ? null : (this.windows.get(this.active) ?? null));
    if (!complete) {
      return;
    }
    if (this.rows > 0) {
      markFirstRows();
    }
    this.events.placed();
  }

  private drawRow(index: number, row: ShownProblem | undefined): void {
    let element = this.drawn.get(index);
    if (element === undefined || (row !== undefined && element.hasAttribute('aria-busy'))) {
      element?.remove();
      element = row === undefined ? waitingElement(index) : rowElement(row, index, this.columns);
      element.style.gridTemplateColumns = this.tracks;
      element.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
      element.dataset['index'] = String(index);
      if (row !== undefined) {
        this.shown.set(element, row);
      }
      this.drawn.set(index, element);
      this.canvas.append(element);
    }
    element.classList.toggle('selected', index === this.active);
    element.setAttribute('aria-selected', String(index === this.active));
  }

  /** Selects a row of the order to which keys refer. */
  private activate(index: number): void {
    if (this.expecting) {
      this.due = null;
      this.ahead = Math.max(0, index);
      return;
    }
    if (this.rows === 0) {
      return;
    }
    this.due = null;
    this.selection.move(Math.max(0, Math.min(index, this.rows - 1)));
    this.scroll.toPlace(this.active);
    this.schedule();
  }

  private openActive(beside: boolean): void {
    if (this.rows === 0 && !this.expecting) {
      return;
    }
    const row = this.waiting ? undefined : this.windows.get(this.active);
    if (row === undefined) {
      this.due = { index: this.expecting ? this.ahead : this.active, beside };
    } else {
      this.events.open(row, beside);
    }
  }

  private onKey(event: KeyboardEvent): void {
    const command = findBoundCommand(GRID_KEYS, event);
    if (command === undefined) {
      return;
    }
    event.preventDefault();
    if (isMove(command)) {
      const [from, last] = this.expecting ? [this.ahead, Infinity] : [this.active, this.rows - 1];
      this.activate(placeAfter(command, from, this.scroll.page, last));
      return;
    }
    switch (command) {
      case 'open':
        this.openActive(false);
        break;
      case 'openBeside':
        this.openActive(true);
        break;
      case 'sort':
        this.heads.focus();
        break;
      default:
        this.events.command(command);
    }
  }

  /** Selects the problem that the clicked row shows, even if another order with other rows is on its way. */
  private onClick(target: EventTarget | null): void {
    const { element, index } = findRowUnder(target);
    const row = element && this.shown.get(element);
    if (index === null) {
      return;
    }
    if (!this.expecting && !this.holding) {
      this.activate(index);
    } else if (row) {
      this.due = null;
      this.choose(row.id);
    }
    this.element.focus();
  }

  /** Opens the problem that the clicked row shows, even if another order is on its way. */
  private onDoubleClick(target: EventTarget | null): void {
    const { element, index } = findRowUnder(target);
    const row = element && this.shown.get(element);
    if (row) {
      this.events.open(row, false);
    } else if (index !== null) {
      this.openActive(false);
    }
  }
}

/** Calls from the grid to its panel. */
interface GridEvents {
  ask(revision: number, offset: number): void;
  sort(sort: ProblemSort): void;
  open(row: ShownProblem, beside: boolean): void;
  /** Selects a problem whose row only the host knows. */
  choose(problem: number): void;
  /** Another row has the focus, or its data arrived. */
  moved(row: ShownProblem | null): void;
  /** All rows in view are drawn and are of the newest order. */
  placed(): void;
  command(command: Exclude<GridCommand, MoveCommand | 'open' | 'openBeside' | 'sort'>): void;
}

/** Tracks the selected row while orders arrive that were made before the last key or click. */
class Selection {
  private row = 0;
  /** The problem for which the newest layout was made, and its row; the top if there was none. */
  private known: { readonly problem: number | null; readonly index: number | null } = { problem: null, index: 0 };
  /** The selected problem, if the newest layout was made before it was selected. */
  private meant: number | null = null;
  /** The selected problem while the host is asked for its row. */
  private chosen: number | null = null;

  /** Row of the selected problem in the newest order. */
  get index(): number {
    return this.row;
  }

  /** The selected problem if it is not the one in that row, else null. */
  get elsewhere(): number | null {
    return this.chosen ?? this.meant;
  }

  /** True while the host is asked for the row of the selected problem. */
  get waiting(): boolean {
    return this.chosen !== null;
  }

  /** Selects a row of the newest order. */
  move(index: number): void {
    this.forget();
    this.row = index;
  }

  /** Selects a problem whose row only the host knows. */
  choose(problem: number): void {
    this.forget();
    this.chosen = problem;
  }

  /** Selects whichever problem is in the current row. */
  forget(): void {
    this.meant = null;
    this.chosen = null;
  }

  /** Selects a row of another order that is shown from its top, or its last row if it is shorter. */
  start(index: number, rows: number): void {
    this.meant = null;
    this.known = { problem: null, index: 0 };
    this.row = clampIndex(index, rows);
  }

  /**
   * Follows the selected problem into another order. If keys moved the selection away from the problem
   * that the host knew, the selection keeps that distance until the rows arrive.
   * @param problemAt returns the problem in a row of the previous order
   * @param rowOf returns the row of a problem in the previous order
   * @returns false if the selected problem is not listed any more
   */
  follow(
    { of, active, rows }: ProblemLayout,
    problemAt: (row: number) => number | undefined,
    rowOf: (problem: number | null) => number | undefined,
  ): boolean {
    const answered = of !== null && of === this.chosen;
    const before = of === this.known.problem ? this.known.index : (rowOf(of) ?? null);
    const since = answered || before === null ? 0 : this.row - before;
    const meant = this.meant ?? problemAt(this.row) ?? null;
    this.chosen = answered ? null : this.chosen;
    this.known = { problem: of, index: of === null ? 0 : active };
    this.meant = since === 0 || this.chosen !== null || this.known.index === null ? null : meant;
    this.row = clampIndex(this.known.index === null ? this.row : this.known.index + since, rows);
    return this.known.index !== null;
  }

  /**
   * Compares the problem in the selected row with the one that the user selected.
   * @param found the problem in the selected row
   * @returns the problem that the host must find, or null if it is in the selected row
   */
  settle(found: number): number | null {
    const { meant } = this;
    this.meant = null;
    return meant === found ? null : meant;
  }
}

function clampIndex(index: number, rows: number): number {
  return Math.max(0, Math.min(index, rows - 1));
}
