/** Scrolling through rows of one height, of which only those in view are drawn. */

/** A performance mark of the page, for measurements. */
const FIRST_ROWS = 'c3: first rows';

/** Marks the moment when every row in view was drawn for the first time. */
export function markFirstRows(): void {
  if (performance.getEntriesByName(FIRST_ROWS).length === 0) {
    performance.mark(FIRST_ROWS);
  }
}

interface RowSizes {
  /** Height of a row in pixels. */
  readonly rowHeight: number;
  /** Number of rows drawn above and below the view. */
  readonly margin: number;
  /** Returns the height in pixels of the sticky header, if there is one. */
  readonly headHeight?: () => number;
}

/** The scroll position of an element, in rows. */
export class RowScroll {
  private readonly element: HTMLElement;
  private readonly sizes: RowSizes;

  constructor(element: HTMLElement, sizes: RowSizes) {
    this.element = element;
    this.sizes = sizes;
  }

  /** Scroll position in pixels. */
  get top(): number {
    return this.element.scrollTop;
  }

  /** The first place in view, and the pixels of it that are scrolled away. */
  get first(): { readonly place: number; readonly offset: number } {
    const { rowHeight } = this.sizes;
    const place = Math.floor(this.top / rowHeight);
    return { place, offset: Math.round(this.top - place * rowHeight) };
  }

  /** Number of rows in a page. */
  get page(): number {
    return Math.max(1, Math.floor(this.height / this.sizes.rowHeight) - 1);
  }

  /** Height of the view without the header, in pixels. */
  private get height(): number {
    return this.element.clientHeight - (this.sizes.headHeight?.() ?? 0);
  }

  /**
   * Returns the places to draw: those in view and a few around them.
   * @param places number of places
   * @returns the first place and the one after the last
   */
  drawn(places: number): { readonly first: number; readonly end: number } {
    const { top, height } = this;
    const { rowHeight, margin } = this.sizes;
    return {
      first: Math.max(0, Math.floor(top / rowHeight) - margin),
      end: Math.min(places, Math.ceil((top + height) / rowHeight) + margin),
    };
  }

  /** Scrolls to a position in pixels, not beyond the places. Old rows may reach further. */
  toPixel(top: number, places: number): void {
    this.element.scrollTop = Math.max(0, Math.min(top, places * this.sizes.rowHeight - this.height));
  }

  /** Scrolls a place into view, no further than needed. */
  toPlace(place: number): void {
    const { rowHeight } = this.sizes;
    const top = place * rowHeight;
    if (top < this.top) {
      this.element.scrollTop = top;
    } else if (top + rowHeight > this.top + this.height) {
      this.element.scrollTop = top + rowHeight - this.height;
    }
  }
}
