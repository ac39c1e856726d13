/** The indexes, in this layout, of rows that the host was, or will be, asked about, by their keys. */
import type { TranscriptLayout } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { carried, type RowPosition } from './carried.ts';

export class KnownRows {
  private readonly indexes = new Map<number, number>();

  /** The key of a row that was asked about; null where it was not. */
  keyAt(index: number): number | null {
    return [...this.indexes].find(([, at]) => at === index)?.[0] ?? null;
  }

  /** The index that a row of this layout has in the next one. */
  carry(row: RowPosition, layout: TranscriptLayout): number {
    return carried(row, this.indexes, indexesIn(layout), layout.rows);
  }

  /** Takes the next layout. */
  open({ places }: TranscriptLayout): void {
    this.indexes.clear();
    for (const { message, index } of places) {
      this.indexes.set(message, index);
    }
  }

  /** Rows that the host is asked about now. @returns their keys */
  ask(rows: readonly (RowPosition | null)[]): readonly number[] {
    const keys = new Set<number>();
    for (const row of rows) {
      if (row !== null && row.message !== null) {
        this.indexes.set(row.message, row.index);
        keys.add(row.message);
      }
    }
    return [...keys];
  }
}

/** Where the rows that were asked about are in a layout, or the nearest ones where a filter hides them. */
export function indexesIn({ places, near }: TranscriptLayout): ReadonlyMap<number, number> {
  return new Map([...places, ...near].map(({ message, index }) => [message, index]));
}
