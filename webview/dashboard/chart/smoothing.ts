/** Smooths noisy lines by means over steps. Points, tables and copies keep the measured values. */

export const SMOOTHINGS = ['automatic', 'none', '10', '50'] as const;
export type Smoothing = (typeof SMOOTHINGS)[number];

const NICE = [5, 10, 20, 50, 100, 200];
/** Largest number of points of a line that is not smoothed. */
const NOISY = 120;

/**
 * Returns the number of steps of a mean, or null if every step is drawn as it is.
 * @param longest number of points of the longest line
 */
export function chooseWindow(smoothing: Smoothing, longest: number): number | null {
  switch (smoothing) {
    case 'none':
      return null;
    case 'automatic':
      return longest <= NOISY ? null : (NICE.find((size) => size >= longest / 100) ?? 200);
    default:
      return Number(smoothing);
  }
}

/** Returns the mean of each value and the values before it, `size` in all or as many as there are. */
export function computeTrailingMeans(values: readonly number[], size: number): readonly number[] {
  let sum = 0;
  return values.map((value, index) => {
    sum += value - (values[index - size] ?? 0);
    return sum / Math.min(size, index + 1);
  });
}
