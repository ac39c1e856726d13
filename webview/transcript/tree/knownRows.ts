/** Tracks the indexes, in the current layout, of the rows whose places the host is asked for. */

import type { TranscriptLayout } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { carryRow, type RowPosition } from './carried.ts';

export class KnownRows {
  private readonly indexes = new Map<number, number>();

  /** Returns the key of a tracked row, or null if the row is not tracked. */
  keyAt(index: number): number | null {
    return [...this.indexes].find(([, at]) => at === index)?.[0] ?? null;
  }

  /** Returns the index of a row of this layout in the next one. */
  carry(row: RowPosition, layout: TranscriptLayout): number {
    return carryRow(row, this.indexes, readIndexes(layout), layout.rows);
  }

  /** Takes the next layout. */
  open({ places }: TranscriptLayout): void {
    this.indexes.clear();
    for (const { message, index } of places) {
      this.indexes.set(message, index);
    }
  }

  /** Tracks rows whose places the host is asked for now. @returns their keys */
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

/** Returns the indexes of the tracked rows in a layout, or of the nearest rows if a filter hides them. */
export function readIndexes({ places, near }: TranscriptLayout): ReadonlyMap<number, number> {
  return new Map([...places, ...near].map(({ message, index }) => [message, index]));
}
