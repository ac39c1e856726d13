/** Stepping through the hits of a search. */
import type { SearchHits } from '../../../src/shared/protocols/transcriptProtocol.ts';

/**
 * The place in an ascending list of rows to go to from a row: the next or the previous hit, around the ends; null
 * without hits.
 */
export function stepFrom(rows: readonly number[], row: number, direction: 1 | -1): number | null {
  if (rows.length === 0) {
    return null;
  }
  const after = rows.findIndex((hit) => hit > row);
  if (direction === 1) {
    return after === -1 ? 0 : after;
  }
  const before = rows.findLastIndex((hit) => hit < row);
  return before === -1 ? rows.length - 1 : before;
}

/**
 * The hits of the newest search. A step that is asked for while they, or the row of the step before, are on the way is
 * not lost.
 */
export class HitSteps {
  private found: SearchHits | null = null;
  private waiting = false;
  private owed: 1 | -1 | null = null;
  /** The row that was stepped to, until it is there. */
  private aim: number | null = null;

  /** Those that were found last; a newer search may be on the way. */
  get hits(): SearchHits | null {
    return this.found;
  }

  /** A search was sent. */
  asked(): void {
    this.waiting = true;
    this.owed = null;
    this.aim = null;
  }

  /** Takes what it found. @returns the step that was asked for meanwhile */
  take(hits: SearchHits): 1 | -1 | null {
    const { owed } = this;
    this.found = hits;
    this.waiting = false;
    this.owed = null;
    return owed;
  }

  /** What was asked for does not come. */
  failed(): void {
    this.waiting = false;
    this.owed = null;
    this.aim = null;
  }

  /** @param place the row that has the keyboard @returns the row to go to; null where there is none, or none yet */
  step(direction: 1 | -1, place: number): number | null {
    if (this.waiting) {
      this.owed = direction;
      return null;
    }
    const rows = this.found?.rows ?? [];
    const at = stepFrom(rows, this.aim ?? place, direction);
    this.aim = at === null ? null : (rows[at] ?? null);
    return this.aim;
  }

  /** A row has the keyboard now. */
  arrived(row: number): void {
    if (row === this.aim) {
      this.aim = null;
    }
  }
}
