/** Means over steps, for the eye: a noisy line shows its course. Points, tables and copies keep what was measured. */

export const SMOOTHINGS = ['automatic', 'none', '10', '50'] as const;
export type Smoothing = (typeof SMOOTHINGS)[number];

const NICE = [5, 10, 20, 50, 100, 200];
/** Shorter lines are read as they are. */
const NOISY = 120;

/**
 * Over how many steps the mean is taken; null where every step is drawn as it is.
 * @param longest points of the longest line
 */
export function windowOf(smoothing: Smoothing, longest: number): number | null {
  switch (smoothing) {
    case 'none':
      return null;
    case 'automatic':
      return longest <= NOISY ? null : (NICE.find((size) => size >= longest / 100) ?? 200);
    default:
      return Number(smoothing);
  }
}

/** The mean of each value and those before it, `size` together; of fewer where there are fewer before it. */
export function trailingMeans(values: readonly number[], size: number): readonly number[] {
  let sum = 0;
  return values.map((value, index) => {
    sum += value - (values[index - size] ?? 0);
    return sum / Math.min(size, index + 1);
  });
}
