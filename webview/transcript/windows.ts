/** The rows that the panel holds: windows of WINDOW rows, asked for when first seen, dropped when the layout changes. */
import { WINDOW, type MarkedRow } from '../../src/shared/transcriptProtocol.ts';

/** Windows kept; the one unused for longest goes first. */
const KEPT = 64;
/** Windows asked for before their rows are seen. */
const AHEAD = 3;

export class RowWindows {
  private revision = -1;
  private readonly windows = new Map<number, readonly MarkedRow[]>();
  private readonly asked = new Set<number>();
  private readonly ask: (revision: number, offset: number) => void;

  /** @param ask requests the window of rows that starts at an offset */
  constructor(ask: (revision: number, offset: number) => void) {
    this.ask = ask;
  }

  /** Forgets all rows when the layout is another one. */
  reset(revision: number): void {
    if (revision === this.revision) return;
    this.revision = revision;
    this.windows.clear();
    this.asked.clear();
  }

  /** Takes an answer; rows of an older layout are ignored. */
  accept(revision: number, offset: number, rows: readonly MarkedRow[]): boolean {
    if (revision !== this.revision) return false;
    this.asked.delete(offset);
    this.windows.set(offset, rows);
    for (const oldest of this.windows.keys()) {
      if (this.windows.size <= KEPT) break;
      this.windows.delete(oldest);
    }
    return true;
  }

  /** An answer may never come: what is needed is asked for again when it is next looked at. */
  forgetAsked(): void {
    this.asked.clear();
  }

  /** The row, or undefined while its window is on the way. */
  get(index: number): MarkedRow | undefined {
    const offset = index - (index % WINDOW);
    const rows = this.windows.get(offset);
    if (rows === undefined) {
      if (!this.asked.has(offset)) {
        this.asked.add(offset);
        this.ask(this.revision, offset);
      }
      return undefined;
    }
    this.windows.delete(offset);
    this.windows.set(offset, rows);
    return rows[index - offset];
  }

  /** The row when it is here; never asks for it. */
  peek(index: number): MarkedRow | undefined {
    const offset = index - (index % WINDOW);
    return this.windows.get(offset)?.[index - offset];
  }
}

/**
 * The visible places whose rows are asked for before they are seen, nearest first: one in each of the next windows on the way.
 * @param first the first place drawn
 * @param end the place after the last drawn
 * @param visible places in all
 */
export function placesAhead(first: number, end: number, visible: number, down: boolean): readonly number[] {
  const nearest = down ? end - 1 : first;
  const places = Array.from({ length: AHEAD }, (_, step) => nearest + (down ? 1 : -1) * (step + 1) * WINDOW);
  return [...new Set(places.map((place) => Math.max(0, Math.min(visible - 1, place))))].filter((place) => place < first || place >= end);
}
