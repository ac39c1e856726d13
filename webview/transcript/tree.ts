/** The transcript tree: one tab stop, rows drawn only where they can be seen. */
import {
  WINDOW,
  type MarkedRow,
  type RowPlace,
  type TranscriptLayout,
  type TranscriptTop,
} from '../../src/shared/protocols/transcriptProtocol.ts';
import { h } from '../common/dom.ts';
import { RowWindows } from '../common/rowWindows.ts';
import { carried, type Standing } from './carried.ts';
import { Folds, type Folding } from './folds.ts';
import { listenForKeys, placeOfWord, type TreeCommand } from './keys.ts';
import { Layout } from './layout.ts';
import { Pointer } from './pointer.ts';
import { mark, ROW_HEIGHT, rowElement, rowId, waitingElement } from './row.ts';
import type { TreeEvents } from './treeEvents.ts';
import { placesAhead } from './windows.ts';

/** Rows drawn above and below what can be seen. */
const MARGIN = 10;
/** Windows of rows kept. */
const WINDOWS_KEPT = 64;
/** What is done with the row that has the keyboard, and so waits until it is here. */
const ABOUT_THE_ROW: ReadonlySet<TreeCommand> = new Set([
  'open',
  'close',
  'select',
  'replay',
  'verify',
  'report',
  'link',
  'compare',
  'tokens',
]);
/** A mark in the page's own timeline, for whoever measures it: every row in sight was drawn for the first time. */
const FIRST_ROWS = 'c3: first rows';

export class TreeView {
  readonly element: HTMLElement;
  private readonly canvas = h('div', { class: 'canvas', role: 'presentation' });
  private readonly windows: RowWindows<MarkedRow>;
  private readonly events: TreeEvents;
  private readonly drawn = new Map<number, HTMLElement>();
  private readonly folded = new Folds();
  private readonly pointer = new Pointer();
  /** Indexes in this layout of rows that the host was, or will be, asked about, by their keys. */
  private readonly known = new Map<number, number>();
  private layout = new Layout(0, []);
  private active = 0;
  private selected: number | null = null;
  private marked: number | null = null;
  private query = '';
  /** A key about a row that was not here yet. */
  private due: { readonly command: TreeCommand; readonly index: number } | null = null;
  /** The rows on screen are those of the layout before, until the rows of this one are here. */
  private holding = false;
  /** Where the tree was scrolled to when that began, and how many pixels the old rows were moved along. */
  private heldAt = 0;
  private shift = 0;
  private frame = 0;
  /** Where the last drawing stood, for the direction of travel. */
  private drawnAt = 0;
  private seen: TranscriptTop | null = null;

  constructor(events: TreeEvents) {
    this.windows = new RowWindows(WINDOW, WINDOWS_KEPT, (revision, offset) => {
      events.ask(revision, offset);
    });
    this.events = events;
    this.element = h('div', { class: 'tree', role: 'tree', tabindex: 0, 'aria-label': 'Messages' }, this.canvas);
    this.element.addEventListener('scroll', () => {
      this.onScroll();
    });
    listenForKeys(
      this.element,
      (command) => {
        this.run(command);
      },
      (word) => {
        const place = this.placeOf(word);
        if (place !== null) {
          this.activate(place);
        }
      },
    );
    this.element.addEventListener('mousedown', ({ target }) => {
      this.pointer.press(target);
    });
    this.element.addEventListener('click', ({ target }) => {
      this.onClick(target);
    });
    this.element.addEventListener('focus', () => {
      this.schedule();
    });
    new ResizeObserver(() => {
      this.schedule();
    }).observe(this.element);
  }

  /**
   * Shows another layout. What the user looks at stays where it is when the transcript is the same.
   * @param kept where a page stood that was thrown away; null where what is selected is to be seen
   */
  open(
    layout: TranscriptLayout,
    folding: Folding,
    selected: number | null,
    same: boolean,
    kept: TranscriptTop | null = null,
  ): void {
    const places = new Map(layout.places.map((place) => [place.message, place]));
    const after = new Map([...layout.places, ...layout.near].map(({ message, index }) => [message, index]));
    const now = (row: Standing): number => carried(row, this.known, after, layout.rows);
    const anchor = this.anchor();
    const standing = this.standing(this.active);
    const active = same ? now(standing) : (after.get(selected ?? -1) ?? 0);
    const due =
      same && this.due?.index === this.active && places.get(standing.message ?? -1)?.index === active ? this.due : null;
    const top = same
      ? anchor === null
        ? undefined
        : now(anchor)
      : kept?.message === null
        ? 0
        : after.get(kept?.message ?? -1);
    const offset = (same ? anchor?.offset : kept?.offset) ?? 0;
    const from = this.element.scrollTop;
    if (!same) {
      this.pointer.leave();
    }
    if (!this.pointer.seeking) {
      this.due = null;
    }
    this.folded.open(folding, places, layout.lanes);
    // What is opened at a message in a lane shows it; what is only shown again stays as it was.
    if (!same && kept === null) {
      this.folded.openLanes(places.get(selected ?? 0)?.ancestors ?? []);
    }
    this.known.clear();
    for (const { message, index } of layout.places) {
      this.known.set(message, index);
    }
    this.windows.reset(layout.revision);
    if (same) {
      this.holding = this.drawn.size > 0;
    } else {
      this.seen = kept;
      this.clear();
    }
    this.selected = selected;
    this.relayout(layout.rows);
    // A row that is folded away leaves the keyboard to the one that hides it.
    this.active = this.layout.rowAt(this.layout.placeOf(active));
    // A key that waits for its row keeps waiting for it, unless the row was folded away.
    if (!this.pointer.seeking && due !== null && this.active === active) {
      this.due = { ...due, index: active };
    }
    this.events.moved(this.active);
    if (top !== undefined) {
      this.scrollToPixel(this.layout.placeOf(top) * ROW_HEIGHT + offset);
    } else if (same) {
      this.scrollToPixel(from);
    } else {
      this.scrollTo(this.active);
    }
    this.hold(from);
    this.schedule();
  }

  /** The rows of the layout before stay where they are seen, wherever the new layout was scrolled to. */
  private hold(from: number): void {
    if (!this.holding) {
      return;
    }
    this.heldAt = this.element.scrollTop;
    this.shift += this.heldAt - from;
    for (const element of this.drawn.values()) {
      element.style.translate = `0 ${String(this.shift)}px`;
    }
  }

  /** Scrolling ends what is held, unless it is the scrolling that a new layout brought with it. */
  private onScroll(): void {
    if (this.holding && this.element.scrollTop !== this.heldAt) {
      this.clear();
    }
    this.schedule();
  }

  /** The row that has the keyboard. */
  get place(): number {
    return this.active;
  }

  /** The message that waits to be compared. */
  markCompared(message: number | null): void {
    this.marked = message;
    this.schedule();
  }

  /** Marks the words of a search in the rows. */
  highlight(query: string): void {
    if (query === this.query) {
      return;
    }
    this.query = query;
    this.clear();
    this.schedule();
  }

  /** Takes rows that were asked for. */
  accept(revision: number, offset: number, rows: readonly MarkedRow[]): void {
    if (!this.windows.accept(revision, offset, rows)) {
      return;
    }
    this.schedule();
    if (!this.pointer.seeking && this.due?.index === this.active && this.windows.peek(this.active) !== undefined) {
      this.run(this.due.command);
    }
  }

  /** The host failed to answer: what it owes is asked for again when it is next looked at. */
  failed(): void {
    if (this.holding) {
      this.clear();
      this.draw();
    }
    this.windows.forgetAsked();
  }

  /** What is folded, what a filter hides as well, and which lanes are open. */
  folds(): Folding {
    return this.folded.folding;
  }

  /** The rows whose places a new layout must give, by their keys, so that what is read stays in sight. */
  landmarks(): readonly number[] {
    const rows = [this.anchor(), this.standing(this.active)].flatMap((row) =>
      row === null || row.message === null ? [] : [{ index: row.index, message: row.message }],
    );
    for (const { index, message } of rows) {
      this.known.set(message, index);
    }
    return [...new Set(rows.map(({ message }) => message))];
  }

  /** A row with its message, where that is known. */
  private standing(index: number): Standing {
    return {
      index,
      message: this.windows.peek(index)?.key ?? [...this.known].find(([, at]) => at === index)?.[0] ?? null,
    };
  }

  /** What stood first in sight when every row was last there; null while nothing has been drawn. */
  get top(): TranscriptTop | null {
    return this.seen;
  }

  /** The first row in sight, when the top has been scrolled away. */
  private anchor(): (Standing & { readonly offset: number }) | null {
    const place = Math.floor(this.element.scrollTop / ROW_HEIGHT);
    if (place === 0) {
      return null;
    }
    return {
      ...this.standing(this.layout.rowAt(place)),
      offset: Math.round(this.element.scrollTop - place * ROW_HEIGHT),
    };
  }

  /** Selects a message, unfolds what hides it and brings it into sight. */
  reveal(place: RowPlace): void {
    this.folded.unfold(place.ancestors);
    this.relayout(this.layout.rows);
    this.selected = place.message;
    this.stand(place.index);
    this.scrollTo(place.index);
    this.schedule();
    this.events.arranged(this.folds());
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

  private relayout(rows: number): void {
    this.layout = new Layout(rows, this.folded.rows);
    this.canvas.style.height = `${String(this.layout.visible * ROW_HEIGHT)}px`;
    if (!this.holding) {
      this.clear();
    }
  }

  private clear(): void {
    this.canvas.replaceChildren();
    this.drawn.clear();
    this.holding = false;
    this.shift = 0;
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - MARGIN);
    const last = Math.min(
      this.layout.visible,
      Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW_HEIGHT) + MARGIN,
    );
    const wanted = Array.from({ length: Math.max(0, last - first) }, (_, offset) => this.layout.rowAt(first + offset));
    const rows = new Map(wanted.map((index) => [index, this.windows.get(index)]));
    const complete = ![...rows.values()].includes(undefined);
    if (this.holding && !complete) {
      return;
    }
    if (this.holding) {
      this.clear();
    }
    const sought = complete && this.pointer.seeking;
    if (sought) {
      const index = this.pointer.find(rows);
      // A key pressed since means what was clicked, and nothing else.
      if (index === undefined) {
        this.due = null;
      }
      this.stand(index ?? this.active);
    }
    for (const [index, element] of this.drawn) {
      if (rows.has(index)) {
        continue;
      }
      element.remove();
      this.drawn.delete(index);
    }
    wanted.forEach((index, offset) => {
      this.drawRow(index, rows.get(index), first + offset);
    });
    if (complete && last > 0) {
      this.settle(first, last);
    }
    const activeShown = this.drawn.has(this.active);
    if (activeShown) {
      this.element.setAttribute('aria-activedescendant', rowId(this.active));
    } else {
      this.element.removeAttribute('aria-activedescendant');
    }
    if (sought && this.due !== null) {
      this.run(this.due.command);
    }
  }

  /**
   * Everything in sight is here: what comes next on the way is asked for, so that nothing scrolled to waits behind it,
   * and the place is told.
   */
  private settle(first: number, end: number): void {
    const { scrollTop } = this.element;
    for (const place of placesAhead(first, end, this.layout.visible, scrollTop >= this.drawnAt)) {
      this.windows.get(this.layout.rowAt(place));
    }
    this.drawnAt = scrollTop;
    if (performance.getEntriesByName(FIRST_ROWS).length === 0) {
      performance.mark(FIRST_ROWS);
    }
    const anchor = this.anchor();
    const top =
      anchor === null
        ? { message: null, offset: Math.round(scrollTop) }
        : { message: anchor.message, offset: anchor.offset };
    if (top.message === this.seen?.message && top.offset === this.seen.offset) {
      return;
    }
    this.seen = top;
    this.events.scrolled();
  }

  /** A row has the keyboard. */
  private stand(index: number): void {
    this.pointer.leave();
    this.active = index;
    this.events.moved(index);
  }

  private drawRow(index: number, row: MarkedRow | undefined, place: number): void {
    let element = this.drawn.get(index);
    if (element === undefined || (row !== undefined && element.hasAttribute('aria-busy'))) {
      element?.remove();
      const folded = row !== undefined && this.folded.has(row.key);
      element =
        row === undefined
          ? waitingElement(index)
          : rowElement(row, { folded, active: false, selected: false, compared: false }, this.query);
      this.drawn.set(index, element);
      if (row !== undefined) {
        this.pointer.shows(element, row);
      }
      this.canvas.append(element);
    }
    element.style.transform = `translateY(${String(place * ROW_HEIGHT)}px)`;
    mark(element, {
      active: index === this.active,
      selected: row !== undefined && row.key === this.selected,
      compared: row !== undefined && row.key !== null && row.key === this.marked,
    });
  }

  /** Scrolls no further than the layout goes: old rows that are still there may reach beyond it. */
  private scrollToPixel(top: number): void {
    this.element.scrollTop = Math.max(0, Math.min(top, this.layout.visible * ROW_HEIGHT - this.element.clientHeight));
  }

  private scrollTo(index: number): void {
    const top = this.layout.placeOf(index) * ROW_HEIGHT;
    const height = this.element.clientHeight;
    if (top < this.element.scrollTop) {
      this.element.scrollTop = top;
    } else if (top + ROW_HEIGHT > this.element.scrollTop + height) {
      this.element.scrollTop = top + ROW_HEIGHT - height;
    }
  }

  /** The place of the next row at hand that begins with a word; lanes are no messages. */
  private placeOf(word: string): number | null {
    return placeOfWord(word, this.layout.placeOf(this.active), this.layout.visible, (at) => {
      const row = this.windows.peek(this.layout.rowAt(at));
      return row?.lane === null ? row : undefined;
    });
  }

  private run(command: TreeCommand): void {
    this.due =
      ABOUT_THE_ROW.has(command) && (this.pointer.seeking || this.windows.get(this.active) === undefined)
        ? { command, index: this.active }
        : null;
    if (this.due !== null) {
      if (!this.pointer.seeking) {
        this.scrollTo(this.active);
      }
      return;
    }
    const place = this.layout.placeOf(this.active);
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 1);
    switch (command) {
      case 'next':
        this.activate(place + 1);
        break;
      case 'previous':
        this.activate(place - 1);
        break;
      case 'nextPage':
        this.activate(place + page);
        break;
      case 'previousPage':
        this.activate(place - page);
        break;
      case 'first':
        this.activate(0);
        break;
      case 'last':
        this.activate(this.layout.visible - 1);
        break;
      case 'open':
        this.openOrDescend(place);
        break;
      case 'close':
        this.closeOrAscend();
        break;
      case 'select':
        this.choose(this.active);
        break;
      case 'replay':
        this.withActive((message) => {
          this.events.replay(message);
        });
        break;
      case 'verify':
        this.withActive((message) => {
          this.events.verify(message);
        });
        break;
      case 'report':
        this.withActive((message) => {
          this.events.exportReport(message);
        });
        break;
      case 'link':
        this.withActive((message) => {
          this.events.copyLink(message);
        });
        break;
      case 'compare':
        this.withActive((message) => {
          this.events.compare(message);
        });
        break;
      case 'tokens':
        this.withActive((message) => {
          this.events.tokens(message);
        });
        break;
      // Of the episode that the keyboard stands in.
      case 'costliest':
        this.choose(this.active);
        this.events.command(command);
        break;
      case 'difference':
      case 'written':
      case 'search':
      case 'nextHit':
      case 'previousHit':
      case 'filter':
      case 'keys':
        this.events.command(command);
        break;
    }
  }

  /** Moves the keyboard to a visible place; the selection stays. */
  private activate(place: number): void {
    const bounded = Math.max(0, Math.min(this.layout.visible - 1, place));
    this.stand(this.layout.rowAt(bounded));
    this.scrollTo(this.active);
    this.schedule();
  }

  private openOrDescend(place: number): void {
    const row = this.windows.get(this.active);
    if (row === undefined || row.descendants === 0) {
      return;
    }
    if (this.folded.has(row.key)) {
      this.toggle(row);
    } else {
      this.activate(place + 1);
    }
  }

  private closeOrAscend(): void {
    const row = this.windows.get(this.active);
    if (row === undefined) {
      return;
    }
    if (row.key !== null && row.descendants > 0 && !this.folded.has(row.key)) {
      this.toggle(row);
      return;
    }
    if (row.parent !== null) {
      this.activate(this.layout.placeOf(row.parent));
    }
  }

  private toggle(row: MarkedRow): void {
    if (row.key === null || row.descendants === 0) {
      return;
    }
    this.folded.toggle(row.key, row);
    this.relayout(this.layout.rows);
    this.active = this.layout.rowAt(this.layout.placeOf(this.active));
    this.schedule();
    this.events.arranged(this.folds());
  }

  private choose(index: number): void {
    const row = this.windows.get(index);
    if (row === undefined) {
      return;
    }
    this.stand(index);
    this.selected = row.message;
    this.schedule();
    this.events.select(row.message);
  }

  /** Chooses the message that has the keyboard, then does something with it. */
  private withActive(work: (message: number) => void): void {
    const row = this.windows.get(this.active);
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
    const index = this.holding ? undefined : [...this.drawn].find(([, drawn]) => drawn === element)?.[0];
    const row = index === undefined ? undefined : this.windows.get(index);
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
      this.stand(index);
      this.toggle(row);
    } else {
      this.choose(index);
    }
  }
}
