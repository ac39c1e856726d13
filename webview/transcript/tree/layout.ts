/** Computes which rows of a depth-first layout are visible when some subtrees are folded. Pure. */

interface Gap {
  /** First hidden row. */
  readonly from: number;
  /** First row after the hidden ones. */
  readonly to: number;
  /** Hidden rows before this gap. */
  readonly before: number;
}

/** Maps between all rows (indexes 0..rows-1) and the visible ones by binary search. */
export class Layout {
  readonly rows: number;
  readonly visible: number;
  private readonly gaps: readonly Gap[];

  /** @param folded index and number of descendants of each folded row, in any order, also nested */
  constructor(rows: number, folded: Iterable<{ readonly index: number; readonly descendants: number }>) {
    const sorted = [...folded]
      .filter((row) => row.descendants > 0 && row.index < rows)
      .sort((a, b) => a.index - b.index);
    const gaps: Gap[] = [];
    let hidden = 0;
    let end = 0;
    for (const row of sorted) {
      const from = row.index + 1;
      const to = Math.min(rows, from + row.descendants);
      if (to <= end) {
        continue;
      }
      gaps.push({ from, to, before: hidden });
      hidden += to - from;
      end = to;
    }
    this.rows = rows;
    this.gaps = gaps;
    this.visible = rows - hidden;
  }

  /** Returns the row at a visible place. */
  rowAt(place: number): number {
    let low = 0;
    let high = this.gaps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const gap = this.gaps[middle];
      if (gap !== undefined && gap.from - gap.before <= place) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const last = this.gaps[low - 1];
    return last === undefined ? place : place + last.before + (last.to - last.from);
  }

  /** Returns the visible place of a row, or of the folded row above it if the row is hidden. */
  placeOf(row: number): number {
    let low = 0;
    let high = this.gaps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const gap = this.gaps[middle];
      if (gap !== undefined && gap.from <= row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const last = this.gaps[low - 1];
    if (last === undefined) {
      return row;
    }
    return row < last.to ? last.from - 1 - last.before : row - last.before - (last.to - last.from);
  }
}
