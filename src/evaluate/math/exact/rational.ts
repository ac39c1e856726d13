/** Reads exact numbers from short texts. Nothing is evaluated, so text from a model is safe here. */

/** A fraction in lowest terms with a positive denominator. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Longer texts are not numbers. */
export const MAX_NUMBER_LENGTH = 200;

const WHOLE = String.raw`(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)`;
const DECIMAL = new RegExp(String.raw`^(${WHOLE})?(?:\.(\d*))?$`, 'u');
const FRACTION = new RegExp(String.raw`^(?:(${WHOLE})\s+)?(${WHOLE})\s*/\s*(${WHOLE})$`, 'u');
const LATEX_FRACTION = /^(\d+)?\s*\\[dt]?frac\{(\d+)\}\{(\d+)\}$/u;

/**
 * Reads a number: integers, decimals, a/b, mixed numbers (`1 1/2` is 3/2), `\frac{a}{b}`, commas
 * between thousands, one sign (also U+2212), a leading $ before or after the sign, a trailing % (a
 * hundredth: 50% is 1/2).
 * @returns null for everything else: exponents, expressions, units, misplaced commas, a zero
 *   denominator, long texts
 */
export function parseRational(text: string): Rational | null {
  if (text.length > MAX_NUMBER_LENGTH) {
    return null;
  }
  const parts = /^(?:([-+])\s*(?:\\?\$)?|\\?\$([-+])?)?\s*([^-+$%]*?)\s*(\\?%)?$/u.exec(
    text.trim().replace(/[\u2212\ufe63\uff0d]/gu, '-'),
  );
  const size = parts === null ? null : parseUnsigned(parts[3] ?? '');
  if (parts === null || size === null) {
    return null;
  }
  const negative = (parts[1] ?? parts[2]) === '-';
  return reduceRational(
    negative ? -size.numerator : size.numerator,
    parts[4] === undefined ? size.denominator : size.denominator * 100n,
  );
}

export function isSameRational(a: Rational, b: Rational): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator;
}

function parseUnsigned(text: string): Rational | null {
  const fraction = FRACTION.exec(text) ?? LATEX_FRACTION.exec(text);
  if (fraction !== null) {
    const denominator = parseGroupedInteger(fraction[3]);
    return denominator === 0n
      ? null
      : { numerator: parseGroupedInteger(fraction[1]) * denominator + parseGroupedInteger(fraction[2]), denominator };
  }
  const decimal = DECIMAL.exec(text);
  if (decimal === null) {
    return null;
  }
  const digits = decimal[2] ?? '';
  if (decimal[1] === undefined && digits === '') {
    return null;
  }
  const denominator = 10n ** BigInt(digits.length);
  return { numerator: parseGroupedInteger(decimal[1]) * denominator + parseGroupedInteger(digits), denominator };
}

/** Returns an integer from digits and grouping commas; 0 if absent or empty. */
function parseGroupedInteger(digits: string | undefined): bigint {
  return BigInt((digits ?? '').replaceAll(',', ''));
}

function reduceRational(numerator: bigint, denominator: bigint): Rational {
  let divisor = numerator < 0n ? -numerator : numerator;
  for (let rest = denominator; rest !== 0n;) {
    [divisor, rest] = [rest, divisor % rest];
  }
  return { numerator: numerator / divisor, denominator: denominator / divisor };
}
