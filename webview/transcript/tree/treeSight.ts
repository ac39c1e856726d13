/** Tracks which rows of the tree's layout are loaded and which are in view. */

import {
  WINDOW,
  type MarkedRow,
  type TranscriptLayout,
  type TranscriptTop,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import { markFirstRows, RowScroll } from '../../common/rowScroll.ts';
import { RowWindows } from '../../common/rowWindows.ts';
import { findPlaceOfWord } from '../keys.ts';
import type { RowPosition } from './carried.ts';
import { readIndexes, KnownRows } from './knownRows.ts';
import { Layout } from './layout.ts';
import { ROW_HEIGHT } from './row.ts';

/** Number of windows of rows kept. */
const WINDOWS_KEPT = 64;
/** Number of rows drawn above and below the view. */
const MARGIN = 10;

/** The first row in view, and the pixels of it that are scrolled away. */
type Anchor = RowPosition & { readonly offset: number };

export class TreeSight {
  readonly known = new KnownRows();
  readonly windows: RowWindows<MarkedRow>;
  readonly scroll: RowScroll;
  layout = new Layout(0, []);
  /** The first row in view when all rows were last loaded; null until then. */
  seen: TranscriptTop | null = null;
  /** Scroll position of the last drawing in pixels, which gives the direction of scrolling. */
  private drawnAt = 0;

  /** @param ask requests the window of rows of a revision that begins at an offset */
  constructor(element: HTMLElement, ask: (revision: number, offset: number) => void) {
    this.scroll = new RowScroll(element, { rowHeight: ROW_HEIGHT, margin: MARGIN });
    this.windows = new RowWindows(WINDOW, WINDOWS_KEPT, ask);
  }

  /** Returns a row with its message, or null as the message if it is not known. */
  positionOf(index: number): RowPosition {
    return { index, message: this.windows.peek(index)?.key ?? this.known.keyAt(index) };
  }

  /** Returns the first row in view, or null at the top. */
  anchor(): Anchor | null {
    const { place, offset } = this.scroll.first;
    return place === 0 ? null : { ...this.positionOf(this.layout.rowAt(place)), offset };
  }

  /**
   * Returns the row that is to be first in view in the next layout, or null if there is none.
   * @param same true if the layout is of the same transcript, so that the rows in view stay in place
   * @param kept the scroll position of a page that the editor discarded
   */
  next(layout: TranscriptLayout, same: boolean, kept: TranscriptTop | null): Pick<Anchor, 'index' | 'offset'> | null {
    if (same) {
      const anchor = this.anchor();
      return anchor === null ? null : { index: this.known.carry(anchor, layout), offset: anchor.offset };
    }
    const index = kept?.message === null ? 0 : readIndexes(layout).get(kept?.message ?? -1);
    return index === undefined ? null : { index, offset: kept?.offset ?? 0 };
  }

  /** Scrolls a row into view. */
  toRow(index: number): void {
    this.scroll.toPlace(this.layout.placeOf(index));
  }

  /** Scrolls so that a row is first in view, as far as the layout allows. */
  toAnchor({ index, offset }: Pick<Anchor, 'index' | 'offset'>): void {
    this.scroll.toPixel(this.layout.placeOf(index) * ROW_HEIGHT + offset, this.layout.visible);
  }

  /** Returns the rows to draw and their range of places. Requests rows that are not loaded. */
  rows(): { readonly first: number; readonly end: number; readonly rows: ReadonlyMap<number, MarkedRow | undefined> } {
    const { first, end } = this.scroll.drawn(this.layout.visible);
    const wanted = Array.from({ length: Math.max(0, end - first) }, (_, offset) => this.layout.rowAt(first + offset));
    return { first, end, rows: new Map(wanted.map((index) => [index, this.windows.get(index)])) };
  }

  /**
   * Handles that all rows in view are loaded. Requests the next rows in the direction of scrolling, so
   * that they do not have to be waited for.
   * @returns true if the first row in view has changed
   */
  settle(first: number, end: number): boolean {
    const { top: scrollTop } = this.scroll;
    for (const place of listPlacesAhead(first, end, this.layout.visible, scrollTop >= this.drawnAt)) {
      this.windows.get(this.layout.rowAt(place));
    }
    this.drawnAt = scrollTop;
    markFirstRows();
    const { message, offset } = this.anchor() ?? { message: null, offset: Math.round(scrollTop) };
    if (message === this.seen?.message && offset === this.seen.offset) {
      return false;
    }
    this.seen = { message, offset };
    return true;
  }

  /** Returns the place of the next loaded message that begins with a word. Skips lanes. */
  placeOf(word: string, active: number): number | null {
    return findPlaceOfWord(word, this.layout.placeOf(active), this.layout.visible, (at) => {
      const row = this.windows.peek(this.layout.rowAt(at));
      return row?.lane === null ? row : undefined;
    });
  }
}

/** Number of windows requested ahead. */
const AHEAD = 3;

/**
 * Returns the places whose rows are requested before they are in view, nearest first: one in each of
 * the next windows in the direction of scrolling.
 * @param first the first place drawn
 * @param end the place after the last one drawn
 * @param visible number of visible places
 */
export function listPlacesAhead(first: number, end: number, visible: number, down: boolean): readonly number[] {
  const nearest = down ? end - 1 : first;
  const places = Array.from({ length: AHEAD }, (_, step) => nearest + (down ? 1 : -1) * (step + 1) * WINDOW);
  return [...new Set(places.map((place) => Math.max(0, Math.min(visible - 1, place))))].filter(
    (place) => place < first || place >= end,
  );
}
