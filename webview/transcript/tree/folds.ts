/**
 * Which rows are folded, in sight or hidden by a filter: messages that the user folded, and lanes that the user did not
 * open.
 */
import type { RowPlace } from '../../../src/shared/protocols/transcriptProtocol.ts';

/** A folded row and how many rows it hides. */
export interface FoldedRow {
  readonly index: number;
  readonly descendants: number;
}

/** What the user changed: the keys of rows that were folded, and of lanes that were opened. */
export interface Folding {
  readonly folded: readonly number[];
  readonly opened: readonly number[];
}

export const NOTHING_FOLDED: Folding = { folded: [], opened: [] };

export class Folds {
  private readonly shown = new Map<number, FoldedRow>();
  /** Rows that a filter hides: folded still when they are back. */
  private readonly away = new Set<number>();
  /** Lanes of this layout that are folded unless they were opened. */
  private readonly lanes = new Set<number>();
  private opened = new Set<number>();

  /** Takes what the user folded and opened into another layout. @param lanes the lanes in it that begin folded */
  open({ folded, opened }: Folding, places: ReadonlyMap<number, FoldedRow>, lanes: readonly RowPlace[]): void {
    this.shown.clear();
    this.away.clear();
    this.lanes.clear();
    this.opened = new Set(opened);
    for (const key of folded) {
      const place = places.get(key);
      if (place === undefined) {
        this.away.add(key);
      } else {
        this.shown.set(key, place);
      }
    }
    for (const { message: key, index, descendants } of lanes) {
      this.lanes.add(key);
      if (!this.opened.has(key)) {
        this.shown.set(key, { index, descendants });
      }
    }
  }

  /** What the user changed so far. */
  get folding(): Folding {
    const folded = [...this.shown.keys()].filter((key) => !this.lanes.has(key));
    return { folded: [...folded, ...this.away], opened: [...this.opened] };
  }

  /** The rows of the layout that are folded. */
  get rows(): Iterable<FoldedRow> {
    return this.shown.values();
  }

  has(key: number | null): boolean {
    return key !== null && this.shown.has(key);
  }

  toggle(key: number, { index, descendants }: FoldedRow): void {
    if (this.has(key)) {
      this.unfoldKey(key);
    } else {
      this.shown.set(key, { index, descendants });
      this.opened.delete(key);
    }
  }

  /** Unfolds what is at these rows. */
  unfold(rows: readonly number[]): void {
    for (const [key, { index }] of [...this.shown]) {
      if (rows.includes(index)) {
        this.unfoldKey(key);
      }
    }
  }

  /** Opens those lanes that are at these rows. */
  openLanes(rows: readonly number[]): void {
    for (const [key, { index }] of [...this.shown]) {
      if (this.lanes.has(key) && rows.includes(index)) {
        this.unfoldKey(key);
      }
    }
  }

  private unfoldKey(key: number): void {
    this.shown.delete(key);
    if (this.lanes.has(key)) {
      this.opened.add(key);
    }
  }
}
