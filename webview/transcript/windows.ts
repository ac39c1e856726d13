/** The rows that the panel holds: windows of WINDOW rows, asked for when first seen, dropped when the layout changes. */
import { WINDOW, type MarkedRow } from '../../src/shared/transcriptProtocol.ts';

/** Windows kept; the one unused for longest goes first. */
const KEPT = 64;

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
