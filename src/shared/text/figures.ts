/**
 * How figures are written wherever a person reads them, so that the same figure looks the same in every place. Pure.
 */

const MINUS = '\u2212';

/** A decimal with a true minus sign; what the digits would make 0 is written with an exponent. */
export function decimal(value: number, digits: number): string {
  if (!Number.isFinite(value)) {
    return String(value).replace('-', MINUS);
  }
  const vanishes = value !== 0 && Math.abs(value) < 10 ** -digits / 2;
  return (vanishes ? value.toExponential(1) : value.toFixed(digits)).replaceAll('-', MINUS);
}

/** A number with its sign: `+0.25`, `−0.50`, `0.00`. */
export function signed(value: number, digits: number): string {
  return value > 0 ? `+${decimal(value, digits)}` : decimal(value, digits);
}
