/** The rows of the tree that are drawn: those of its layout, or of the layout before until the new ones are here. */
import type { MarkedRow } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { h } from '../../common/dom.ts';
import type { Pointer } from './pointer.ts';
import { mark, ROW_HEIGHT, rowElement, waitingElement, type RowState } from './row.ts';

export class DrawnRows {
  readonly canvas = h('div', { class: 'canvas', role: 'presentation' });
  private readonly pointer: Pointer;
  private readonly elements = new Map<number, HTMLElement>();
  private holding = false;
  /** Where the tree was scrolled to when holding began, and how many pixels the old rows were moved along. */
  private heldAt = 0;
  private shift = 0;

  constructor(pointer: Pointer) {
    this.pointer = pointer;
  }

  /** Whether the rows on screen are those of the layout before. */
  get held(): boolean {
    return this.holding;
  }

  has(index: number): boolean {
    return this.elements.has(index);
  }

  /** The index of a row of this layout by its element; undefined where it is none. */
  indexOf(element: Element | null): number | undefined {
    return this.holding ? undefined : [...this.elements].find(([, drawn]) => drawn === element)?.[0];
  }

  /** Another layout comes: what is drawn stays until `clear`. */
  keep(): void {
    this.holding = this.elements.size > 0;
  }

  /**
   * The rows that are held stay where they are seen, wherever the new layout was scrolled to.
   * @param from pixels scrolled before
   * @param to pixels scrolled now
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

  /** Scrolling ends what is held, unless it is the scrolling that a new layout brought with it. */
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

  /** Removes every row that is not one of these. */
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
   * @param row undefined while it is on its way
   * @param query the words of a search that are marked in it
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
    mark(element, state);
  }
}
