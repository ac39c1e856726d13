/** Which row is selected, though orders arrive that were made before the host knew of the last key or click. */
import type { ProblemLayout } from '../../src/shared/protocols/episodesProtocol.ts';

export class Selection {
  private row = 0;
  /** What the newest layout was made for: a problem, and its row there; the top where the host knew of none. */
  private known: { readonly problem: number | null; readonly index: number | null } = { problem: null, index: 0 };
  /** The problem selected by a key or a click of which the newest layout does not know yet. */
  private meant: number | null = null;
  /** The problem that only the host can find, until it has said where it is. */
  private chosen: number | null = null;

  /** Its row in the newest order. */
  get index(): number {
    return this.row;
  }

  /** The problem that is meant where it is not the one in that row, else null. */
  get elsewhere(): number | null {
    return this.chosen ?? this.meant;
  }

  /** Whether the host has been asked where the selected problem is. */
  get waiting(): boolean {
    return this.chosen !== null;
  }

  /** A key or a click selects a row of the newest order. */
  move(index: number): void {
    this.forget();
    this.row = index;
  }

  /** A problem is selected of which only the host knows the row. */
  choose(problem: number): void {
    this.forget();
    this.chosen = problem;
  }

  /** Whatever is in the row is meant. */
  forget(): void {
    this.meant = null;
    this.chosen = null;
  }

  /** Another order, read from its top, selects one of its rows, or its last. */
  start(index: number, rows: number): void {
    this.meant = null;
    this.known = { problem: null, index: 0 };
    this.row = within(index, rows);
  }

  /**
   * Follows the selected problem into another order. What keys have led to since the problem that the host knew of is
   * as many rows away from it, until rows say otherwise.
   * @param problemAt which problem is in a row of the order before
   * @param rowOf where a problem was there
   * @returns false where the selected problem is not listed any more
   */
  follow(
    { of, active, rows }: ProblemLayout,
    problemAt: (row: number) => number | undefined,
    rowOf: (problem: number | null) => number | undefined,
  ): boolean {
    const answered = of !== null && of === this.chosen;
    const before = of === this.known.problem ? this.known.index : (rowOf(of) ?? null);
    const since = answered || before === null ? 0 : this.row - before;
    const meant = this.meant ?? problemAt(this.row) ?? null;
    this.chosen = answered ? null : this.chosen;
    this.known = { problem: of, index: of === null ? 0 : active };
    this.meant = since === 0 || this.chosen !== null || this.known.index === null ? null : meant;
    this.row = within(this.known.index === null ? this.row : this.known.index + since, rows);
    return this.known.index !== null;
  }

  /**
   * Where other rows came between, what was meant is elsewhere.
   * @param found the problem that is in the selected row
   * @returns the problem that the host must find, or null
   */
  settle(found: number): number | null {
    const { meant } = this;
    this.meant = null;
    return meant === found ? null : meant;
  }
}

function within(index: number, rows: number): number {
  return Math.max(0, Math.min(index, rows - 1));
}
