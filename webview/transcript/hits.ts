/** Stepping through the hits of a search. Pure. */

/** The place in an ascending list of rows to go to from a row: the next or the previous hit, around the ends; null without hits. */
export function stepFrom(rows: readonly number[], row: number, direction: 1 | -1): number | null {
  if (rows.length === 0) return null;
  const after = rows.findIndex((hit) => hit > row);
  if (direction === 1) return after === -1 ? 0 : after;
  const before = rows.findLastIndex((hit) => hit < row);
  return before === -1 ? rows.length - 1 : before;
}
