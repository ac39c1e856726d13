/** The transcript tree. It is one tab stop and draws only the rows in view. */

import type {
  MarkedRow,
  RowPlace,
  TranscriptLayout,
  TranscriptTop,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import { h } from '../../common/dom.ts';
import { isMove, placeAfter, type MoveCommand } from '../../common/keyBindings.ts';
import { oncePerFrame } from '../../common/rest.ts';
import { listenForKeys, type TreeCommand } from '../keys.ts';
import { Folds, type Folding } from './folds.ts';
import { readIndexes } from './knownRows.ts';
import { Layout } from './layout.ts';
import { Pointer } from './pointer.ts';
import { ROW_HEIGHT, rowId, showRowState, rowElement, waitingElement, type RowState } from './row.ts';
import type { TreeEvents, PanelCommand } from './treeEvents.ts';
import { TreeSight } from './treeSight.ts';

export class TreeView {
  readonly element: HTMLElement;
  private readonly events: TreeEvents;
  private readonly folded = new Folds();
  private readonly pointer = new Pointer();
  private readonly drawn = new DrawnRows(this.pointer);
  private readonly sight: TreeSight;
  private active = 0;
  private selected: number | null = null;
  private marked: number | null = null;
  private query = '';
  /** A command for a row that is not here yet. */
  private due: { readonly command: TreeCommand; readonly index: number } | null = null;
  private readonly drawSoon = oncePerFrame(() => this.draw());

  constructor(events: TreeEvents) {
    this.events = events;
    this.element = h('div', { class: 'tree', role: 'tree', tabindex: 0, 'aria-label': 'Messages' }, this.drawn.canvas);
    this.sight = new TreeSight(this.element, (revision, offset) => events.ask(revision, offset));
    this.element.addEventListener('scroll', () => {
      this.drawn.scrolled(this.sight.scroll.top);
      this.schedule();
    });
    listenForKeys(
      this.element,
      (command) => this.run(command),
      (word) => {
        const place = this.sight.placeOf(word, this.active);
        if (place !== null) {
          this.activate(place);
        }
      },
    );
    this.element.addEventListener('mousedown', ({ target }) => this.pointer.press(target));
    this.element.addEventListener('click', ({ target }) => this.onClick(target));
    this.element.addEventListener('focus', () => this.schedule());
    new ResizeObserver(() => this.schedule()).observe(this.element);
  }

  /**
   * Shows another layout. If the transcript is the same, the rows in view stay in place.
   * @param kept the scroll position of a page that the editor discarded; null to scroll to the selected
   *   message
   */
  open(
    layout: TranscriptLayout,
    folding: Folding,
    selected: number | null,
    same: boolean,
    kept: TranscriptTop | null = null,
  ): void {
    const { sight } = this;
    const places = new Map(layout.places.map((place) => [place.message, place]));
    const position = sight.positionOf(this.active);
    const active = same ? sight.known.carry(position, layout) : (readIndexes(layout).get(selected ?? -1) ?? 0);
    const due =
      same && this.due?.index === this.active && places.get(position.message ?? -1)?.index === active ? this.due : null;
    const top = sight.next(layout, same, kept);
    const from = sight.scroll.top;
    if (!same) {
      this.pointer.leave();
    }
    if (!this.pointer.seeking) {
      this.due = null;
    }
    this.folded.open(folding, places, layout.lanes);
    // Opens the lanes that contain the selected message. A restored page keeps its lanes as they were.
    if (!same && kept === null) {
      this.folded.openLanes(places.get(selected ?? 0)?.ancestors ?? []);
    }
    sight.known.open(layout);
    sight.windows.reset(layout.revision);
    if (same) {
      this.drawn.keep();
    } else {
      sight.seen = kept;
      this.drawn.clear();
    }
    this.selected = selected;
    this.relayout(layout.rows);
    // If the focused row is folded away, the row that hides it gets the focus.
    this.active = sight.layout.rowAt(sight.layout.placeOf(active));
    // A pending command keeps waiting for its row, unless the row was folded away.
    if (!this.pointer.seeking && due !== null && this.active === active) {
      this.due = { ...due, index: active };
    }
    this.events.moved(this.active);
    if (top !== null) {
      sight.toAnchor(top);
    } else if (same) {
      sight.scroll.toPixel(from, sight.layout.visible);
    } else {
      sight.toRow(this.active);
    }
    this.drawn.hold(from, sight.scroll.top);
    this.schedule();
  }

  /** Index of the focused row. */
  get place(): number {
    return this.active;
  }

  /** Marks the message that is selected to be compared. */
  markCompared(message: number | null): void {
    this.marked = message;
    this.schedule();
  }

  /** Highlights the words of a search in the rows. */
  highlight(query: string): void {
    if (query === this.query) {
      return;
    }
    this.query = query;
    this.drawn.clear();
    this.schedule();
  }

  /** Takes rows that were requested. */
  accept(revision: number, offset: number, rows: readonly MarkedRow[]): void {
    if (!this.sight.windows.accept(revision, offset, rows)) {
      return;
    }
    this.schedule();
    if (
      !this.pointer.seeking &&
      this.due?.index === this.active &&
      this.sight.windows.peek(this.active) !== undefined
    ) {
      this.run(this.due.command);
    }
  }

  /** Handles a failure of the host. Missing rows are requested again when they are needed. */
  failed(): void {
    if (this.drawn.held) {
      this.drawn.clear();
      this.draw();
    }
    this.sight.windows.forgetAsked();
  }

  /** Returns the folded rows, also those that a filter hides, and the open lanes. */
  folds(): Folding {
    return this.folded.folding;
  }

  /** Returns the keys of the rows that a new layout must place, to keep the rows in view in place. */
  landmarks(): readonly number[] {
    return this.sight.known.ask([this.sight.anchor(), this.sight.positionOf(this.active)]);
  }

  /** The first row in view when all rows were last loaded; null until then. */
  get top(): TranscriptTop | null {
    return this.sight.seen;
  }

  /** Selects a message, unfolds its ancestors and scrolls it into view. */
  reveal(place: RowPlace): void {
    this.folded.unfold(place.ancestors);
    this.relayout(this.sight.layout.rows);
    this.selected = place.message;
    this.focusRow(place.index);
    this.sight.toRow(place.index);
    this.schedule();
    this.events.arranged(this.folds());
  }

  /** Schedules a redraw, for example because rows arrived. */
  schedule(): void {
    this.drawSoon();
  }

  private relayout(rows: number): void {
    this.sight.layout = new Layout(rows, this.folded.rows);
    this.drawn.canvas.style.height = `${this.sight.layout.visible * ROW_HEIGHT}px`;
    if (!this.drawn.held) {
      this.drawn.clear();
    }
  }

  private draw(): void {
    const { first, end, rows } = this.sight.rows();
    const complete = ![...rows.values()].includes(undefined);
    if (this.drawn.held) {
      if (!complete) {
        return;
      }
      this.drawn.clear();
    }
    const sought = complete && this.pointer.seeking;
    if (sought) {
      const index = this.pointer.find(rows);
      // A key pressed since the click refers to the clicked row only.
      if (index === undefined) {
        this.due = null;
      }
      this.focusRow(index ?? this.active);
    }
    this.drawn.retain(rows);
    let place = first;
    for (const [index, row] of rows) {
      this.drawRow(index, row, place++);
    }
    if (complete && end > 0 && this.sight.settle(first, end)) {
      this.events.scrolled();
    }
    if (this.drawn.has(this.active)) {
      this.element.setAttribute('aria-activedescendant', rowId(this.active));
    } else {
      this.element.removeAttribute('aria-activedescendant');
    }
    if (sought && this.due !== null) {
      this.run(this.due.command);
    }
  }

  /** Moves the focus to a row. */
  private focusRow(index: number): void {
    this.pointer.leave();
    this.active = index;
    this.events.moved(index);
  }

  private drawRow(index: number, row: MarkedRow | undefined, place: number): void {
    const state = {
      folded: row !== undefined && this.folded.has(row.key),
      active: index === this.active,
      selected: row !== undefined && row.key === this.selected,
      compared: row !== undefined && row.key !== null && row.key === this.marked,
    };
    this.drawn.draw(index, row, place, state, this.query);
  }

  private run(command: TreeCommand): void {
    this.due =
      (isMessageCommand(command) || isRowCommand(command)) &&
      (this.pointer.seeking || this.sight.windows.get(this.active) === undefined)
        ? { command, index: this.active }
        : null;
    if (this.due !== null) {
      if (!this.pointer.seeking) {
        this.sight.toRow(this.active);
      }
      return;
    }
    if (isMove(command)) {
      const { layout, scroll } = this.sight;
      this.activate(placeAfter(command, layout.placeOf(this.active), scroll.page, layout.visible - 1));
    } else if (isMessageCommand(command)) {
      this.withActive((message) => this.events[MESSAGE_EVENTS[command]](message));
    } else if (command === 'open') {
      this.openOrDescend();
    } else if (command === 'close') {
      this.closeOrAscend();
    } else if (command === 'select') {
      this.choose(this.active);
    } else {
      // Refers to the episode of the selected message.
      if (command === 'costliest') {
        this.choose(this.active);
      }
      this.events.command(command);
    }
  }

  /** Moves the focus to a visible place. Does not change the selection. */
  private activate(place: number): void {
    const bounded = Math.max(0, Math.min(this.sight.layout.visible - 1, place));
    this.focusRow(this.sight.layout.rowAt(bounded));
    this.sight.toRow(this.active);
    this.schedule();
  }

  private openOrDescend(): void {
    const row = this.sight.windows.get(this.active);
    if (row === undefined || row.descendants === 0) {
      return;
    }
    if (this.folded.has(row.key)) {
      this.toggle(row);
    } else {
      this.activate(this.sight.layout.placeOf(this.active) + 1);
    }
  }

  private closeOrAscend(): void {
    const row = this.sight.windows.get(this.active);
    if (row === undefined) {
      return;
    }
    if (row.key !== null && row.descendants > 0 && !this.folded.has(row.key)) {
      this.toggle(row);
      return;
    }
    if (row.parent !== null) {
      this.activate(this.sight.layout.placeOf(row.parent));
    }
  }

  private toggle(row: MarkedRow): void {
    if (row.key === null || row.descendants === 0) {
      return;
    }
    this.folded.toggle(row.key, row);
    this.relayout(this.sight.layout.rows);
    this.active = this.sight.layout.rowAt(this.sight.layout.placeOf(this.active));
    this.schedule();
    this.events.arranged(this.folds());
  }

  private choose(index: number): void {
    const row = this.sight.windows.get(index);
    if (row === undefined) {
      return;
    }
    this.focusRow(index);
    this.selected = row.message;
    this.schedule();
    this.events.select(row.message);
  }

  /** Selects the focused message, then calls a function with it. */
  private withActive(work: (message: number) => void): void {
    const row = this.sight.windows.get(this.active);
    if (row === undefined || row.message === null) {
      return;
    }
    this.choose(this.active);
    work(row.message);
  }

  private onClick(target: EventTarget | null): void {
    if (!(target instanceof Element)) {
      return;
    }
    const meant = this.pointer.click(target);
    const element = target.closest('.row');
    const index = this.drawn.indexOf(element);
    const row = index === undefined ? undefined : this.sight.windows.get(index);
    if (meant !== undefined && row?.key !== meant.key) {
      this.selected = meant.message;
      this.pointer.seek(meant);
      this.due = null;
      this.schedule();
      this.events.select(meant.message);
      return;
    }
    if (index === undefined) {
      return;
    }
    // A lane is a heading: a click anywhere on it opens or closes it.
    if (row !== undefined && (row.lane !== null || target.closest('.foldable') !== null)) {
      this.focusRow(index);
      this.toggle(row);
    } else {
      this.choose(index);
    }
  }
}

/** The drawn rows: those of the layout, or of the previous one until the new rows are here. */
class DrawnRows {
  readonly canvas = h('div', { class: 'canvas', role: 'presentation' });
  private readonly pointer: Pointer;
  private readonly elements = new Map<number, HTMLElement>();
  private holding = false;
  /** Scroll position when holding began, in pixels. */
  private heldAt = 0;
  /** Pixels by which the old rows are moved to stay in place. */
  private shift = 0;

  constructor(pointer: Pointer) {
    this.pointer = pointer;
  }

  /** True while the rows on screen are of the previous layout. */
  get held(): boolean {
    return this.holding;
  }

  has(index: number): boolean {
    return this.elements.has(index);
  }

  /** Returns the index of the row that an element shows, or undefined if it shows no row of this layout. */
  indexOf(element: Element | null): number | undefined {
    return this.holding ? undefined : [...this.elements].find(([, drawn]) => drawn === element)?.[0];
  }

  /** Holds the drawn rows for another layout until `clear`. */
  keep(): void {
    this.holding = this.elements.size > 0;
  }

  /**
   * Keeps held rows at their place on screen when the new layout scrolls.
   * @param from old scroll position in pixels
   * @param to new scroll position in pixels
   */
  hold(from: number, to: number): void {
    if (!this.holding) {
      return;
    }
    this.heldAt = to;
    this.shift += to - from;
    for (const element of this.elements.values()) {
      element.style.translate = `0 ${this.shift}px`;
    }
  }

  /** Stops holding old rows, unless the new layout itself caused the scrolling. */
  scrolled(top: number): void {
    if (this.holding && top !== this.heldAt) {
      this.clear();
    }
  }

  clear(): void {
    this.canvas.replaceChildren();
    this.elements.clear();
    this.holding = false;
    this.shift = 0;
  }

  /** Removes all rows except these. */
  retain(rows: ReadonlyMap<number, unknown>): void {
    for (const [index, element] of this.elements) {
      if (rows.has(index)) {
        continue;
      }
      element.remove();
      this.elements.delete(index);
    }
  }

  /**
   * Draws a row at a visible place.
   * @param row undefined if it is not here yet
   * @param query the words of a search to highlight in it
   */
  draw(index: number, row: MarkedRow | undefined, place: number, state: RowState, query: string): void {
    let element = this.elements.get(index);
    if (element === undefined || (row !== undefined && element.hasAttribute('aria-busy'))) {
      element?.remove();
      element = row === undefined ? waitingElement(index) : rowElement(row, state, query);
      this.elements.set(index, element);
      if (row !== undefined) {
        this.pointer.shows(element, row);
      }
      this.canvas.append(element);
    }
    element.style.transform = `translateY(${place * ROW_HEIGHT}px)`;
    showRowState(element, state);
  }
}

// Commands of the tree.

/** The commands about a message, each with its event. */
const MESSAGE_EVENTS = {
  replay: 'replay',
  verify: 'verify',
  report: 'exportReport',
  link: 'copyLink',
  compare: 'compare',
  tokens: 'tokens',
} as const satisfies Partial<Record<TreeCommand, keyof TreeEvents>>;

type MessageCommand = keyof typeof MESSAGE_EVENTS;
/** The commands about the focused row. */
type RowCommand = Exclude<TreeCommand, MessageCommand | MoveCommand | PanelCommand>;

const ROW_COMMANDS: ReadonlySet<TreeCommand> = new Set<RowCommand>(['open', 'close', 'select']);

const isMessageCommand = (command: TreeCommand): command is MessageCommand => Object.hasOwn(MESSAGE_EVENTS, command);
const isRowCommand = (command: TreeCommand): command is RowCommand => ROW_COMMANDS.has(command);
