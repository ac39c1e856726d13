/** Finds the rows of one layout in the next one. Pure. */

/** A row of the old layout. Its message is null for the question and for rows that were never loaded. */
export interface RowPosition {
  readonly index: number;
  readonly message: number | null;
}

/**
 * Returns the index of a row in the new layout. A row that the new layout does not have moves by as
 * much as the nearest row that it has.
 * @param before indexes of messages in the old layout
 * @param after indexes of messages in the new layout
 * @param rows number of rows in the new layout
 */
export function carryRow(
  { index, message }: RowPosition,
  before: ReadonlyMap<number, number>,
  after: ReadonlyMap<number, number>,
  rows: number,
): number {
  if (index === 0) {
    return 0;
  }
  const kept = message === null ? undefined : after.get(message);
  if (kept !== undefined) {
    return kept;
  }
  let [distance, shift] = [Infinity, 0];
  for (const [known, from] of before) {
    const to = after.get(known);
    if (to === undefined || Math.abs(from - index) >= distance) {
      continue;
    }
    distance = Math.abs(from - index);
    shift = to - from;
  }
  return Math.max(0, Math.min(rows - 1, index + shift));
}
