/** Where the rows of one layout are in the next. Pure. */

/** A row of the layout that goes; its message is null where it is the question, or was never loaded. */
export interface RowPosition {
  readonly index: number;
  readonly message: number | null;
}

/**
 * The index that a row has in the new layout. A row that the new layout does not have goes as far as the nearest one
 * that it does have.
 * @param before indexes of messages in the layout that goes
 * @param after indexes of messages in the new one
 * @param rows rows of the new one
 */
export function carried(
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
