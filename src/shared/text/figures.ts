/** Formats of figures for readers, the same in every place. Pure. */

const MINUS = '\u2212';

/** Formats a decimal with a true minus sign, with an exponent if it would round to 0. */
export function formatDecimal(value: number, digits: number): string {
  if (!Number.isFinite(value)) {
    return String(value).replace('-', MINUS);
  }
  const vanishes = value !== 0 && Math.abs(value) < 10 ** -digits / 2;
  return (vanishes ? value.toExponential(1) : value.toFixed(digits)).replaceAll('-', MINUS);
}

/**
 * Formats a share of the highest return in points: whole, or with one significant digit below half a
 * point, so that the bound of an interval that leaves out 0 does not read as 0: `+12`, `−0.02`, `0`.
 */
export function formatPoints(value: number, most: number): string {
  const points = (100 * value) / most;
  const size = Math.abs(points);
  return formatSigned(points, size === 0 || size >= 0.5 ? 0 : Math.min(100, Math.ceil(-Math.log10(size))));
}

/** Formats a number with its sign: `+0.25`, `−0.50`, `0.00`. */
export function formatSigned(value: number, digits: number): string {
  return value > 0 ? `+${formatDecimal(value, digits)}` : formatDecimal(value, digits);
}
