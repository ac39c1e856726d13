/** What of the tree's layout is at hand, and what of it is in sight. */
import {
  WINDOW,
  type MarkedRow,
  type TranscriptLayout,
  type TranscriptTop,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import { RowWindows } from '../../common/rowWindows.ts';
import { placeOfWord } from '../keys.ts';
import type { RowPosition } from './carried.ts';
import { indexesIn, KnownRows } from './knownRows.ts';
import { Layout } from './layout.ts';
import { ROW_HEIGHT } from './row.ts';

/** Windows of rows kept. */
const WINDOWS_KEPT = 64;
/** A mark in the page's own timeline, for whoever measures it: every row in sight was drawn for the first time. */
const FIRST_ROWS = 'c3: first rows';

/** The first row in sight, and the pixels of it that are scrolled away. */
type Anchor = RowPosition & { readonly offset: number };

export class TreeSight {
  readonly known = new KnownRows();
  readonly windows: RowWindows<MarkedRow>;
  readonly scroll: TreeScroll;
  layout = new Layout(0, []);
  /** What was first in sight when every row was last there; null while nothing has been drawn. */
  seen: TranscriptTop | null = null;
  /** Where the last drawing was, for the direction of travel. */
  private drawnAt = 0;

  /** @param ask requests the window of rows of a revision that begins at an offset */
  constructor(element: HTMLElement, ask: (revision: number, offset: number) => void) {
    this.scroll = new TreeScroll(element);
    this.windows = new RowWindows(WINDOW, WINDOWS_KEPT, ask);
  }

  /** A row with its message, where that is known. */
  positionOf(index: number): RowPosition {
    return { index, message: this.windows.peek(index)?.key ?? this.known.keyAt(index) };
  }

  /** The first row in sight, when the top has been scrolled away. */
  anchor(): Anchor | null {
    const { place, offset } = this.scroll.first;
    return place === 0 ? null : { ...this.positionOf(this.layout.rowAt(place)), offset };
  }

  /**
   * What is to be first in sight in the next layout; null where nothing says.
   * @param same whether it is the next layout of the same transcript: then what is in sight stays there
   * @param kept where a page was that was thrown away
   */
  next(layout: TranscriptLayout, same: boolean, kept: TranscriptTop | null): Pick<Anchor, 'index' | 'offset'> | null {
    if (same) {
      const anchor = this.anchor();
      return anchor === null ? null : { index: this.known.carry(anchor, layout), offset: anchor.offset };
    }
    const index = kept?.message === null ? 0 : indexesIn(layout).get(kept?.message ?? -1);
    return index === undefined ? null : { index, offset: kept?.offset ?? 0 };
  }

  /** Brings a row into sight. */
  toRow(index: number): void {
    this.scroll.toPlace(this.layout.placeOf(index));
  }

  /** Has a row first in sight, as far as the layout goes. */
  toAnchor({ index, offset }: Pick<Anchor, 'index' | 'offset'>): void {
    this.scroll.toPixel(this.layout.placeOf(index) * ROW_HEIGHT + offset, this.layout.visible);
  }

  /**
   * The rows to be drawn, with the first of their places and the one after the last; what is not at hand is asked for.
   */
  rows(): { readonly first: number; readonly end: number; readonly rows: ReadonlyMap<number, MarkedRow | undefined> } {
    const { first, end } = this.scroll.drawn(this.layout.visible);
    const wanted = Array.from({ length: Math.max(0, end - first) }, (_, offset) => this.layout.rowAt(first + offset));
    return { first, end, rows: new Map(wanted.map((index) => [index, this.windows.get(index)])) };
  }

  /**
   * Everything in sight is here: what comes next on the way is asked for, so that nothing scrolled to waits behind it.
   * @returns whether something else is first in sight than the last time
   */
  settle(first: number, end: number): boolean {
    const { top: scrollTop } = this.scroll;
    for (const place of placesAhead(first, end, this.layout.visible, scrollTop >= this.drawnAt)) {
      this.windows.get(this.layout.rowAt(place));
    }
    this.drawnAt = scrollTop;
    if (performance.getEntriesByName(FIRST_ROWS).length === 0) {
      performance.mark(FIRST_ROWS);
    }
    const { message, offset } = this.anchor() ?? { message: null, offset: Math.round(scrollTop) };
    if (message === this.seen?.message && offset === this.seen.offset) {
      return false;
    }
    this.seen = { message, offset };
    return true;
  }

  /** The place of the next row at hand that begins with a word; lanes are no messages. */
  placeOf(word: string, active: number): number | null {
    return placeOfWord(word, this.layout.placeOf(active), this.layout.visible, (at) => {
      const row = this.windows.peek(this.layout.rowAt(at));
      return row?.lane === null ? row : undefined;
    });
  }
}

// Where the tree is scrolled to, in rows.

/** Rows drawn above and below what can be seen. */
const MARGIN = 10;

class TreeScroll {
  private readonly element: HTMLElement;

  constructor(element: HTMLElement) {
    this.element = element;
  }

  /** Pixels scrolled away. */
  get top(): number {
    return this.element.scrollTop;
  }

  /** The first visible place in sight, and the pixels of it that are scrolled away. */
  get first(): { readonly place: number; readonly offset: number } {
    const place = Math.floor(this.top / ROW_HEIGHT);
    return { place, offset: Math.round(this.top - place * ROW_HEIGHT) };
  }

  /** Rows that a page key goes by. */
  get page(): number {
    return Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 1);
  }

  /**
   * The places to be drawn: those in sight and a few around them.
   * @param visible places in all
   * @returns the first, and the one after the last
   */
  drawn(visible: number): { readonly first: number; readonly end: number } {
    const { scrollTop, clientHeight } = this.element;
    return {
      first: Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - MARGIN),
      end: Math.min(visible, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + MARGIN),
    };
  }

  /** Scrolls no further than the layout goes: old rows that are still there may reach beyond it. */
  toPixel(top: number, visible: number): void {
    this.element.scrollTop = Math.max(0, Math.min(top, visible * ROW_HEIGHT - this.element.clientHeight));
  }

  /** Scrolls a place into sight, no further than needed. */
  toPlace(place: number): void {
    const top = place * ROW_HEIGHT;
    const height = this.element.clientHeight;
    if (top < this.top) {
      this.element.scrollTop = top;
    } else if (top + ROW_HEIGHT > this.top + height) {
      this.element.scrollTop = top + ROW_HEIGHT - height;
    }
  }
}

// Which rows of the message tree are asked for before they are seen.

/** Windows asked for ahead. */
const AHEAD = 3;

/**
 * The visible places whose rows are asked for before they are seen, nearest first: one in each of the next windows on
 * the way.
 * @param first the first place drawn
 * @param end the place after the last drawn
 * @param visible places in all
 */
export function placesAhead(first: number, end: number, visible: number, down: boolean): readonly number[] {
  const nearest = down ? end - 1 : first;
  const places = Array.from({ length: AHEAD }, (_, step) => nearest + (down ? 1 : -1) * (step + 1) * WINDOW);
  return [...new Set(places.map((place) => Math.max(0, Math.min(visible - 1, place))))].filter(
    (place) => place < first || place >= end,
  );
}
