/** Slices of a list as data sets write them: `test[16:]`, `train[:-10]`, or a name alone for all of it. */

/** A name and, in brackets, the begin and end of the slice. */
export const SLICE = /^\s*[\w.-]{1,60}\s*(?:\[\s*(-?\d{1,9})?\s*:\s*(-?\d{1,9})?\s*\])?\s*$/u;

/**
 * Returns the bounds of a slice by Python's rules: negative numbers count from the end, and bounds
 * outside the list are clipped. The name before the brackets is ignored.
 * @param length of the list
 * @returns offsets with `from <= to`, `to` exclusive; null if the text is not a slice
 */
export function parseSlice(slice: string, length: number): { readonly from: number; readonly to: number } | null {
  const found = SLICE.exec(slice);
  if (found === null) {
    return null;
  }
  const place = (written: string | undefined, otherwise: number): number => {
    const index = written === undefined ? otherwise : Number(written);
    return Math.min(length, Math.max(0, index < 0 ? index + length : index));
  };
  const from = place(found[1], 0);
  return { from, to: Math.max(from, place(found[2], length)) };
}
