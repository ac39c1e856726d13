/** Finds the message of a click, although rows may be redrawn or move while the button is down. */

import type { MarkedRow } from '../../../src/shared/protocols/transcriptProtocol.ts';

export class Pointer {
  /** The row that each element on screen shows, also elements of the previous layout. */
  private readonly shown = new WeakMap<Element, MarkedRow>();
  private pressed: MarkedRow | undefined;
  private sought: MarkedRow | null = null;

  /** Records that an element shows a row. */
  shows(element: Element, row: MarkedRow): void {
    this.shown.set(element, row);
  }

  /** Records the row on which the button went down. */
  press(target: EventTarget | null): void {
    this.pressed = this.rowOf(target);
  }

  /** Returns the row on which the button went down, or undefined if there was none. */
  click(target: EventTarget | null): MarkedRow | undefined {
    const row = this.pressed ?? this.rowOf(target);
    this.pressed = undefined;
    return row;
  }

  /** Looks for a clicked row that has moved, until the rows in view are here or the focus moves. */
  seek(row: MarkedRow): void {
    this.sought = row;
  }

  get seeking(): boolean {
    return this.sought !== null;
  }

  /** Returns the index of the sought row among the rows in view, or undefined if it is not among them. */
  find(rows: ReadonlyMap<number, MarkedRow | undefined>): number | undefined {
    return this.sought === null ? undefined : [...rows].find(([, row]) => row?.key === this.sought?.key)?.[0];
  }

  leave(): void {
    this.sought = null;
  }

  private rowOf(target: EventTarget | null): MarkedRow | undefined {
    const element = target instanceof Element ? target.closest('.row') : null;
    return element === null ? undefined : this.shown.get(element);
  }
}
