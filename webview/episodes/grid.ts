import type { ProblemSort } from '../../src/domain/problem.ts';
/** The grid of problems: one tab stop, rows drawn only where they can be seen. */
import {
  NO_PLACE,
  PROBLEM_WINDOW,
  type ProblemLayout,
  type ProblemPlace,
  type ShownProblem,
} from '../../src/shared/protocols/episodesProtocol.ts';
import { h } from '../common/dom.ts';
import { RowWindows } from '../common/rowWindows.ts';
import { COLUMNS, type Column } from './columns.ts';
import { commandOf, rowAfter, type GridCommand, type MoveCommand } from './keys.ts';
import { Heads, ROW_HEIGHT, rowElement, rowId, rowUnder, waitingElement } from './rows.ts';

/** Rows drawn above and below what can be seen. */
const MARGIN = 12;
/** Pixels between two columns, and before and after all; as in grid.css. */
const GAP = 8;
const PADDING = 20;
/** Windows of rows kept. */
const WINDOWS_KEPT = 48;
/** A mark in the page's own timeline, for whoever measures it: every row in sight was drawn for the first time. */
const FIRST_ROWS = 'c3: first rows';

export class Grid {
  readonly element: HTMLElement;
  private readonly canvas = h('div', { class: 'canvas', role: 'rowgroup' });
  private readonly heads: Heads;
  private readonly headGroup: HTMLElement;
  private readonly windows: RowWindows<ShownProblem>;
  private readonly events: GridEvents;
  private readonly drawn = new Map<number, HTMLElement>();
  private rows = 0;
  private columns: readonly Column[] = [];
  private tracks = '';
  private readonly selection = new Selection();
  /** The rows on screen are those of the order before, until the rows of this one are here. */
  private holding = false;
  /** Where the grid was scrolled to when that began. */
  private heldAt = 0;
  private frame = 0;
  /** Another order was asked for: what is on screen is not what a key means. */
  private expecting = false;
  /** The row of that order to which keys have led meanwhile. */
  private ahead = 0;
  /** Which problem a row on screen shows. */
  private readonly shown = new WeakMap<Element, ShownProblem>();
  /** A key about a row that is not here yet. */
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
    this.element.addEventListener('scroll', () => this.onScroll());
    this.element.addEventListener('keydown', (event) => this.onKey(event));
    this.element.addEventListener('click', ({ target }) => this.onClick(target));
    this.element.addEventListener('dblclick', ({ target }) => this.onDoubleClick(target));
    this.show(COLUMNS);
    new ResizeObserver(() => this.schedule()).observe(this.element);
  }

  /** Shows these columns; rows on screen are drawn anew. */
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

  /** Another order was asked for, read from its top: keys are about it, and wait for it. */
  expect(): void {
    this.expecting = true;
    this.ahead = 0;
    this.due = null;
    this.selection.forget();
  }

  /** Another run is shown: its list is read from its top too. */
  restart(): void {
    if (!this.expecting) {
      this.expect();
    }
  }

  /**
   * Shows another order. What is looked at stays in its place; old rows stay until the new ones are here.
   * @param asked whether it is the newest one that was asked for
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
      this.bringIntoSight();
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
    // What takes the row of a problem that passes the filters no more was not meant.
    if (!listed) {
      this.due = null;
    }
  }

  private choose(problem: number): void {
    this.selection.choose(problem);
    this.events.choose(problem);
  }

  /** Takes rows that were asked for. */
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

  /** The host failed to answer: what it owes is asked for again when it is next looked at. */
  failed(): void {
    this.expecting = false;
    this.selection.forget();
    this.due = null;
    this.windows.forgetAsked();
  }

  /** The row with the keyboard and the first one in sight. */
  get place(): ProblemPlace {
    const { scrollTop } = this.element;
    const first = Math.floor(scrollTop / ROW_HEIGHT);
    const active = this.selection.elsewhere ?? this.windows.peek(this.active)?.id ?? null;
    if (scrollTop === 0) {
      return { ...NO_PLACE, active };
    }
    return { active, top: this.windows.peek(first)?.id ?? null, offset: Math.round(scrollTop - first * ROW_HEIGHT) };
  }

  private get active(): number {
    return this.selection.index;
  }

  /** Which row a key that opens one means is not known yet. */
  private get waiting(): boolean {
    return this.expecting || this.selection.waiting;
  }

  focus(): void {
    this.element.focus();
  }

  /** Draws again, for example because rows arrived. */
  schedule(): void {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw();
      });
    }
  }

  /** Scrolling ends what is held, unless it is the scrolling that a new order brought with it. */
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
    const height = this.element.clientHeight - this.heads.element.offsetHeight;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - MARGIN);
    const end = Math.min(this.rows, Math.ceil((this.element.scrollTop + height) / ROW_HEIGHT) + MARGIN);
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
    if (this.rows > 0 && performance.getEntriesByName(FIRST_ROWS).length === 0) {
      performance.mark(FIRST_ROWS);
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

  /** Selects a row of the order that keys are about. */
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
    this.bringIntoSight();
    this.schedule();
  }

  private bringIntoSight(): void {
    const top = this.active * ROW_HEIGHT;
    const height = this.element.clientHeight - this.heads.element.offsetHeight;
    if (top < this.element.scrollTop) {
      this.element.scrollTop = top;
    } else if (top + ROW_HEIGHT > this.element.scrollTop + height) {
      this.element.scrollTop = top + ROW_HEIGHT - height;
    }
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
    const command = commandOf(event);
    if (command === undefined) {
      return;
    }
    event.preventDefault();
    const page = Math.max(
      1,
      Math.floor((this.element.clientHeight - this.heads.element.offsetHeight) / ROW_HEIGHT) - 1,
    );
    const [from, last] = this.expecting ? [this.ahead, Infinity] : [this.active, this.rows - 1];
    switch (command) {
      case 'next':
      case 'previous':
      case 'nextPage':
      case 'previousPage':
      case 'first':
      case 'last':
        this.activate(rowAfter(command, from, page, last));
        break;
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

  /** What a row on screen shows is meant, not what has its place in an order that is on its way. */
  private onClick(target: EventTarget | null): void {
    const { element, index } = rowUnder(target);
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

  /** Opens what was seen under the pointer, also while another order is on its way. */
  private onDoubleClick(target: EventTarget | null): void {
    const { element, index } = rowUnder(target);
    const row = element && this.shown.get(element);
    if (row) {
      this.events.open(row, false);
    } else if (index !== null) {
      this.openActive(false);
    }
  }
}

// What the grid of problems asks of its panel.

interface GridEvents {
  ask(revision: number, offset: number): void;
  sort(sort: ProblemSort): void;
  open(row: ShownProblem, beside: boolean): void;
  /** A problem is selected of which only the host knows where it is now. */
  choose(problem: number): void;
  /** Another row has the keyboard, or its data came. */
  moved(row: ShownProblem | null): void;
  /** All rows in sight are drawn, and are those of the newest order. */
  placed(): void;
  command(command: Exclude<GridCommand, MoveCommand | 'open' | 'openBeside' | 'sort'>): void;
}

// Which row is selected, though orders arrive that were made before the host knew of the last key or click.

class Selection {
  private row = 0;
  /** What the newest layout was made for: a problem, and its row there; the top where the host knew of none. */
  private known: { readonly problem: number | null; readonly index: number | null } = { problem: null, index: 0 };
  /** The problem selected by a key or a click of which the newest layout does not know yet. */
  private meant: number | null = null;
  /** The problem that only the host can find, until it has said where it is. */
  private chosen: number | null = null;

  /** Its row in the newest order. */
  get index(): number {
    return this.row;
  }

  /** The problem that is meant where it is not the one in that row, else null. */
  get elsewhere(): number | null {
    return this.chosen ?? this.meant;
  }

  /** Whether the host has been asked where the selected problem is. */
  get waiting(): boolean {
    return this.chosen !== null;
  }

  /** A key or a click selects a row of the newest order. */
  move(index: number): void {
    this.forget();
    this.row = index;
  }

  /** A problem is selected of which only the host knows the row. */
  choose(problem: number): void {
    this.forget();
    this.chosen = problem;
  }

  /** Whatever is in the row is meant. */
  forget(): void {
    this.meant = null;
    this.chosen = null;
  }

  /** Another order, read from its top, selects one of its rows, or its last. */
  start(index: number, rows: number): void {
    this.meant = null;
    this.known = { problem: null, index: 0 };
    this.row = within(index, rows);
  }

  /**
   * Follows the selected problem into another order. What keys have led to since the problem that the host knew of is
   * as many rows away from it, until rows say otherwise.
   * @param problemAt which problem is in a row of the order before
   * @param rowOf where a problem was there
   * @returns false where the selected problem is not listed any more
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
    this.row = within(this.known.index === null ? this.row : this.known.index + since, rows);
    return this.known.index !== null;
  }

  /**
   * Where other rows came between, what was meant is elsewhere.
   * @param found the problem that is in the selected row
   * @returns the problem that the host must find, or null
   */
  settle(found: number): number | null {
    const { meant } = this;
    this.meant = null;
    return meant === found ? null : meant;
  }
}

function within(index: number, rows: number): number {
  return Math.max(0, Math.min(index, rows - 1));
}
