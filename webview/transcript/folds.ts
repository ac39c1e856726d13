/** Which messages are folded, in sight or hidden by a filter. */

/** A folded row and how many rows it hides. */
export interface FoldedRow {
  readonly index: number;
  readonly descendants: number;
}

export class Folds {
  private readonly shown = new Map<number, FoldedRow>();
  /** Messages that a filter hides: folded still when they are back. */
  private readonly away = new Set<number>();

  /** Takes the folded messages into another layout. */
  open(messages: readonly number[], places: ReadonlyMap<number, FoldedRow>): void {
    this.shown.clear();
    this.away.clear();
    for (const message of messages) {
      const place = places.get(message);
      if (place === undefined) this.away.add(message);
      else this.shown.set(message, place);
    }
  }

  /** Every folded message. */
  get messages(): readonly number[] {
    return [...this.shown.keys(), ...this.away];
  }

  /** The rows of the layout that are folded. */
  get rows(): Iterable<FoldedRow> {
    return this.shown.values();
  }

  has(message: number | null): boolean {
    return message !== null && this.shown.has(message);
  }

  toggle(message: number, { index, descendants }: FoldedRow): void {
    if (!this.shown.delete(message)) this.shown.set(message, { index, descendants });
  }

  /** Unfolds what stands at these rows. */
  unfold(rows: readonly number[]): void {
    for (const [message, { index }] of this.shown) if (rows.includes(index)) this.shown.delete(message);
  }
}
