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

/** Formats a number with its sign: `+0.25`, `−0.50`, `0.00`. */
export function formatSigned(value: number, digits: number): string {
  return value > 0 ? `+${formatDecimal(value, digits)}` : formatDecimal(value, digits);
}
