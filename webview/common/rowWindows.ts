/** The rows that a page holds of a long list: windows asked for when first seen, dropped when the order changes. */
export class RowWindows<Row> {
  private readonly size: number;
  private readonly kept: number;
  private revision = -1;
  private readonly windows = new Map<number, readonly Row[]>();
  private readonly asked = new Set<number>();
  private readonly ask: (revision: number, offset: number) => void;

  /**
   * @param size rows of one window
   * @param kept windows kept; the one unused for longest is dropped first
   * @param ask requests the window of rows that starts at an offset
   */
  constructor(size: number, kept: number, ask: (revision: number, offset: number) => void) {
    this.size = size;
    this.kept = kept;
    this.ask = ask;
  }

  /** Forgets all rows of the order before. */
  reset(revision: number): void {
    if (revision === this.revision) {
      return;
    }
    this.revision = revision;
    this.windows.clear();
    this.asked.clear();
  }

  /** Takes an answer; rows of an older order are ignored. */
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

  /** An answer may never come: what is needed is asked for again when it is next looked at. */
  forgetAsked(): void {
    this.asked.clear();
  }

  /** The row, or undefined while its window is on the way. */
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

  /** The row when it is here; never asks for it. */
  peek(index: number): Row | undefined {
    const offset = index - (index % this.size);
    return this.windows.get(offset)?.[index - offset];
  }
}
