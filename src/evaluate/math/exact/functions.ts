/** Exact values of functions in integers and roots: sines of known angles, and logarithms of powers. */

import { Unreadable } from './budget.ts';
import { factorInteger, ONE, reduceFraction, toRational } from './numbers.ts';
import { singleTerm, type Algebra, type Quotient } from './polynomial.ts';
import { takeRoot } from './powers.ts';
import type { Rational } from './rational.ts';

/**
 * Returns sin, cos, tan, cot, sec or csc of a multiple of pi/12; null for any other function or angle.
 * @throws Unreadable if it has no value, such as tan(pi/2)
 */
export function evaluateCircular(algebra: Algebra, name: string, angle: Quotient): Quotient | null {
  const turns = algebra.isZero(angle) ? toRational(0) : algebra.constantRatio(angle, algebra.atom('pi'));
  if (turns === null || 12n % turns.denominator !== 0n) {
    return null;
  }
  const twelfths = Number(((((turns.numerator * 12n) / turns.denominator) % 24n) + 24n) % 24n);
  const [sine, cosine] = [exactSine(algebra, twelfths), exactSine(algebra, (twelfths + 6) % 24)];
  const over = (above: Quotient, below: Quotient): Quotient => algebra.times(above, algebra.inverted(below));
  const one = algebra.number(ONE);
  switch (name) {
    case 'sin':
      return sine;
    case 'cos':
      return cosine;
    case 'tan':
      return over(sine, cosine);
    case 'cot':
      return over(cosine, sine);
    case 'sec':
      return over(one, cosine);
    case 'csc':
      return over(one, sine);
    default:
      return null;
  }
}

/** Returns sin of a number of twelfths of pi, from 0 to 23. */
function exactSine(algebra: Algebra, twelfths: number): Quotient {
  if (twelfths > 12) {
    return algebra.negated(exactSine(algebra, twelfths - 12));
  }
  const rootOf = (number: number): Quotient => takeRoot(algebra, algebra.number(toRational(number)), 2);
  const part = (value: Quotient, of: bigint): Quotient =>
    algebra.times(value, algebra.number({ numerator: 1n, denominator: of }));
  switch (Math.min(twelfths, 12 - twelfths)) {
    case 0:
      return algebra.number(toRational(0));
    case 1:
      return part(algebra.minus(rootOf(6), rootOf(2)), 4n);
    case 2:
      return part(algebra.number(ONE), 2n);
    case 3:
      return part(rootOf(2), 2n);
    case 4:
      return part(rootOf(3), 2n);
    case 5:
      return part(algebra.plus(rootOf(6), rootOf(2)), 4n);
    default:
      return algebra.number(ONE);
  }
}

/**
 * Returns the logarithm of a value if it is rational, else null.
 * @param base null for e
 * @throws Unreadable if there is none, such as for 0
 */
export function exactLogarithm(algebra: Algebra, base: Quotient | null, value: Quotient): Quotient | null {
  const number = algebra.rational(value);
  if (number !== null && number.numerator <= 0n) {
    throw new Unreadable();
  }
  if (number?.numerator === number?.denominator && number !== null) {
    return algebra.number(toRational(0));
  }
  if (base === null) {
    const [factor, second] = singleTerm(value.above)?.factors ?? [];
    const power = factor?.atom === 'e' && second === undefined ? factor : null;
    return power !== null && algebra.equal(value, algebra.atom('e', power.numerator, power.denominator))
      ? algebra.number(reduceFraction(algebra.budget, BigInt(power.numerator), BigInt(power.denominator)))
      : null;
  }
  const [below, above] = [algebra.rational(base), number];
  if (below === null || above === null || below.numerator <= 0n || below.numerator === below.denominator) {
    return null;
  }
  const power = findCommonPower(factorRational(algebra, below), factorRational(algebra, above));
  return power === null ? null : algebra.number(reduceFraction(algebra.budget, power.numerator, power.denominator));
}

/** Returns a positive number as a product of powers of coprime bases. */
function factorRational({ budget }: Algebra, { numerator, denominator }: Rational): ReadonlyMap<bigint, bigint> {
  return new Map([
    ...factorInteger(budget, numerator).map(({ base, power }) => [base, BigInt(power)] as const),
    ...factorInteger(budget, denominator).map(({ base, power }) => [base, BigInt(-power)] as const),
  ]);
}

/** Returns the rational exponent that turns one product into another, or null if there is none. */
function findCommonPower(of: ReadonlyMap<bigint, bigint>, product: ReadonlyMap<bigint, bigint>): Rational | null {
  const [first] = of.entries();
  const partner = product.get(first?.[0] ?? 0n);
  if (first === undefined || partner === undefined || of.size !== product.size) {
    return null;
  }
  const scale = first[1];
  const same = [...of].every(([base, power]) => (product.get(base) ?? 0n) * scale === power * partner);
  return same ? { numerator: partner, denominator: scale } : null;
}
