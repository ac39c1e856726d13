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
import { TreeScroll } from './treeScroll.ts';
import { placesAhead } from './windows.ts';

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
