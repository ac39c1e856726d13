/** Where the tree is scrolled to, in rows. */
import { ROW_HEIGHT } from './row.ts';

/** Rows drawn above and below what can be seen. */
const MARGIN = 10;

export class TreeScroll {
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
