/** Which message a click means: rows may be drawn anew, or move, between the press of a button and its release. */
import type { MarkedRow } from '../../../src/shared/protocols/transcriptProtocol.ts';

export class Pointer {
  /** What the rows on screen show, those of the layout before too. */
  private readonly shown = new WeakMap<Element, MarkedRow>();
  private pressed: MarkedRow | undefined;
  private sought: MarkedRow | null = null;

  /** An element now shows a row. */
  shows(element: Element, row: MarkedRow): void {
    this.shown.set(element, row);
  }

  /** The button went down. */
  press(target: EventTarget | null): void {
    this.pressed = this.rowOf(target);
  }

  /** The row that a click means: the one that was seen where the button went down; undefined where none was. */
  click(target: EventTarget | null): MarkedRow | undefined {
    const row = this.pressed ?? this.rowOf(target);
    this.pressed = undefined;
    return row;
  }

  /**
   * What a click means is elsewhere now: it is sought until the rows in sight are here, or the keyboard goes
   * elsewhere.
   */
  seek(row: MarkedRow): void {
    this.sought = row;
  }

  get seeking(): boolean {
    return this.sought !== null;
  }

  /** The index of what is sought among the rows in sight; undefined where it is none of them. */
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
