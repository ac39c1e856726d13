/**
 * The rows of a long list that a page holds. Windows of rows are requested when first seen and dropped
 * when the order changes.
 */
export class RowWindows<Row> {
  private readonly size: number;
  private readonly kept: number;
  private revision = -1;
  private readonly windows = new Map<number, readonly Row[]>();
  private readonly asked = new Set<number>();
  private readonly ask: (revision: number, offset: number) => void;

  /**
   * @param size number of rows in a window
   * @param kept number of windows kept; the least recently used one is dropped first
   * @param ask requests the window of rows that starts at an offset
   */
  constructor(size: number, kept: number, ask: (revision: number, offset: number) => void) {
    this.size = size;
    this.kept = kept;
    this.ask = ask;
  }

  /** Drops all rows if the revision is new. */
  reset(revision: number): void {
    if (revision === this.revision) {
      return;
    }
    this.revision = revision;
    this.windows.clear();
    this.asked.clear();
  }

  /** Stores the rows of an answer. Returns false, and stores nothing, if they are of another revision. */
  accept(revision: number, offset: number, rows: readonly Row[]): boolean {
    if (revision !== this.revision) {
      return false;
    }
    this.asked.delete(offset);
    this.windows.set(offset, rows);
    for (const oldest of this.windows.keys()) {
      if (this.windows.size <= this.kept) {
        break;
      }
      this.windows.delete(oldest);
    }
    return true;
  }

  /** Forgets pending requests, whose answers may never come. `get` then requests the windows again. */
  forgetAsked(): void {
    this.asked.clear();
  }

  /** Returns a row. If it is not here yet, requests its window and returns undefined. */
  get(index: number): Row | undefined {
    const offset = index - (index % this.size);
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

  /** Returns a row if it is here. Never requests it. */
  peek(index: number): Row | undefined {
    const offset = index - (index % this.size);
    return this.windows.get(offset)?.[index - offset];
  }
}
