/** Sums in NumPy's order of operations, so that ties in the published code are ties here, and ranks agree. */

const BLOCK = 128;
const LANES = 8;

/** Returns the sum as `numpy.sum` adds doubles: eight lanes in blocks of 128, halves above. */
export function pairwiseSum(values: readonly number[], start = 0, end = values.length): number {
  const count = end - start;
  if (count > BLOCK) {
    const half = Math.floor(count / 2);
    const middle = start + half - (half % LANES);
    return pairwiseSum(values, start, middle) + pairwiseSum(values, middle, end);
  }
  const whole = count < LANES ? start : end - (count % LANES);
  let sum = 0;
  if (whole > start) {
    const lanes = values.slice(start, start + LANES);
    for (let index = start + LANES; index < whole; index++) {
      lanes[(index - start) % LANES] = (lanes[(index - start) % LANES] ?? 0) + (values[index] ?? 0);
    }
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = lanes;
    sum = a + b + (c + d) + (e + f + (g + h));
  }
  for (let index = whole; index < end; index++) {
    sum += values[index] ?? 0;
  }
  return sum;
}
