/** Powers and roots of values in normal form, and their size as doubles. */

import { LimitReached, LIMITS, Unreadable } from './budget.ts';
import {
  findExactRoot,
  factorInteger,
  invertRational,
  negateRational,
  ONE,
  plus,
  reduceFraction,
  times,
  toDouble,
  toRational,
  raiseToInteger,
} from './numbers.ts';
import {
  greatestRationalDivisor,
  singleTerm,
  makeFactor,
  type Algebra,
  type Factor,
  type Polynomial,
  type Quotient,
  type Term,
} from './polynomial.ts';
import type { Rational } from './rational.ts';

/**
 * Returns base to a power that may itself be any value.
 * @throws LimitReached, Unreadable if there is no real or imaginary value
 */
export function raiseToPower(algebra: Algebra, base: Quotient, exponent: Quotient): Quotient {
  const constant = algebra.rational(exponent);
  if (constant === null) {
    return raiseSymbolically(algebra, base, exponent);
  }
  const size = constant.numerator < 0n ? -constant.numerator : constant.numerator;
  if (size > BigInt(LIMITS.exponent) || constant.denominator > BigInt(LIMITS.root)) {
    throw new LimitReached();
  }
  if (constant.numerator === 0n) {
    if (algebra.isZero(base)) {
      throw new Unreadable();
    }
    return algebra.number(ONE);
  }
  // In lowest terms a root of even order has an odd power outside, so the root can be taken first.
  const rooted = constant.denominator === 1n ? base : takeRoot(algebra, base, Number(constant.denominator));
  const raised = algebra.reduced({
    above: raisePolynomial(algebra, rooted.above, Number(size)),
    below: raisePolynomial(algebra, rooted.below, Number(size)),
  });
  return constant.numerator < 0n ? algebra.inverted(raised) : raised;
}

/**
 * Returns the real root, or an imaginary square root.
 * @throws LimitReached, Unreadable
 */
export function takeRoot(algebra: Algebra, value: Quotient, order: number): Quotient {
  if (order < 1 || order > LIMITS.root) {
    throw new LimitReached();
  }
  return algebra.times(
    takePolynomialRoot(algebra, value.above, order),
    algebra.inverted(takePolynomialRoot(algebra, value.below, order)),
  );
}

/** Returns the size of a real number made of integers, roots, pi and e as a double, else null. */
export function approximateValue(algebra: Algebra, value: Quotient): number | null {
  const exact = algebra.rational(value);
  if (exact !== null) {
    return toDouble(exact);
  }
  const above = approximatePolynomial(value.above);
  const below = approximatePolynomial(value.below);
  const size = above === null || below === null ? NaN : above / below;
  return Number.isFinite(size) ? size : null;
}

function raisePolynomial(algebra: Algebra, base: Polynomial, size: number): Polynomial {
  const term = singleTerm(base);
  if (base.size === 0) {
    return base;
  }
  if (term !== null && !term.factors.some(({ atom }) => atom.startsWith('√'))) {
    const raised = term.factors.map(({ atom, numerator, denominator }) =>
      makeFactor(atom, numerator * size, denominator),
    );
    // The product reduces powers of roots and of the imaginary unit.
    return algebra.product(
      algebra.single({ coefficient: raiseToInteger(algebra.budget, term.coefficient, size), factors: raised }),
      algebra.constant(ONE),
    );
  }
  let product = base;
  for (let done = 1; done < size; done++) {
    product = algebra.product(product, base);
  }
  return product;
}

function takePolynomialRoot(algebra: Algebra, radicand: Polynomial, order: number): Quotient {
  if (radicand.size === 0) {
    return algebra.quotient(radicand);
  }
  const term = singleTerm(radicand);
  if (term !== null) {
    return takeTermRoot(algebra, term, order);
  }
  const { budget } = algebra;
  const denested = order === 2 ? denestRoot(algebra, radicand) : null;
  if (denested !== null) {
    return denested;
  }
  const common = greatestRationalDivisor(budget, radicand);
  const group = algebra.group(algebra.scaled(radicand, invertRational(common)));
  return algebra.times(takeNumberRoot(algebra, common, order), algebra.atom(group, 1, order));
}

function takeTermRoot(algebra: Algebra, { coefficient, factors: powers }: Term, order: number): Quotient {
  const number = takeNumberRoot(algebra, coefficient, order);
  const variables = powers.filter(({ atom }) => !isPositiveAtom(atom));
  if (variables.length === 1 && variables.every((factor) => keepsSignUnderRoot(factor, order))) {
    variables.length = 0;
  }
  const plain = powers
    .filter((factor) => !variables.includes(factor))
    .map(({ atom, numerator, denominator }) => makeFactor(atom, numerator, denominator * order));
  const outside = algebra.times(
    number,
    algebra.quotient(algebra.product(algebra.single({ coefficient: ONE, factors: plain }), algebra.constant(ONE))),
  );
  if (variables.length === 0) {
    return outside;
  }
  return algebra.times(
    outside,
    algebra.atom(algebra.group(algebra.single({ coefficient: ONE, factors: variables })), 1, order),
  );
}

/** Returns true for atoms that are never negative. */
function isPositiveAtom(atom: string): boolean {
  return atom.startsWith('#') || atom === 'pi' || atom === 'e';
}

/** sqrt(x^3) is x^(3/2), because both need x to be at least 0; but sqrt(x^2) is not x. */
function keepsSignUnderRoot({ atom, numerator, denominator }: Factor, order: number): boolean {
  return (
    atom !== 'i' && denominator === 1 && (numerator % 2 !== 0 || makeFactor(atom, numerator, order).numerator % 2 === 0)
  );
}

function takeNumberRoot(algebra: Algebra, value: Rational, order: number): Quotient {
  if (value.numerator < 0n) {
    const positive = takeNumberRoot(algebra, negateRational(value), order);
    if (order % 2 === 1) {
      return algebra.negated(positive);
    }
    if (order !== 2) {
      throw new Unreadable();
    }
    return algebra.times(positive, algebra.atom('i'));
  }
  const powers = [
    ...factorInteger(algebra.budget, value.numerator).map(({ base, power: size }) =>
      makeFactor(`#${base}`, size, order),
    ),
    ...factorInteger(algebra.budget, value.denominator).map(({ base, power: size }) =>
      makeFactor(`#${base}`, -size, order),
    ),
  ].sort((left, right) => (left.atom < right.atom ? -1 : 1));
  return algebra.quotient(
    algebra.product(algebra.single({ coefficient: ONE, factors: powers }), algebra.constant(ONE)),
  );
}

/**
 * Uses sqrt(a + b sqrt(c)) = sqrt((a + s) / 2) +- sqrt((a - s) / 2) if s = sqrt(a^2 - b^2 c) is
 * rational; else returns null.
 */
function denestRoot(algebra: Algebra, radicand: Polynomial): Quotient | null {
  const terms = [...radicand.values()];
  const plain = terms.find(({ factors: powers }) => powers.length === 0);
  const rooted = terms.find(({ factors: powers }) => powers.length > 0);
  if (terms.length !== 2 || plain === undefined || rooted === undefined || plain.coefficient.numerator < 0n) {
    return null;
  }
  if (rooted.factors.some(({ atom, denominator }) => !atom.startsWith('#') || denominator !== 2)) {
    return null;
  }
  const { budget } = algebra;
  const surd = algebra.single(rooted);
  const square = algebra.rational(algebra.quotient(algebra.product(surd, surd)));
  if (square === null) {
    return null;
  }
  const rest = plus(budget, times(budget, plain.coefficient, plain.coefficient), negateRational(square));
  if (rest.numerator < 0n) {
    return null;
  }
  const above = findExactRoot(budget, rest.numerator, 2);
  const below = findExactRoot(budget, rest.denominator, 2);
  if (above === null || below === null) {
    return null;
  }
  const middle = reduceFraction(budget, above, below);
  const half = { numerator: 1n, denominator: 2n };
  const larger = takeNumberRoot(algebra, times(budget, plus(budget, plain.coefficient, middle), half), 2);
  const smaller = takeNumberRoot(
    algebra,
    times(budget, plus(budget, plain.coefficient, negateRational(middle)), half),
    2,
  );
  return rooted.coefficient.numerator < 0n ? algebra.minus(larger, smaller) : algebra.plus(larger, smaller);
}

/**
 * Returns base^(a + b m + ...) as base^a (base^m)^b ...: one atom for each term of the exponent that
 * is not a number.
 */
function raiseSymbolically(algebra: Algebra, base: Quotient, exponent: Quotient): Quotient {
  let product = algebra.number(ONE);
  const one = singleTerm(exponent.below);
  if (one === null || one.factors.length > 0) {
    return makeExponential(algebra, base, algebra.quotientKey(exponent), ONE);
  }
  for (const { coefficient, factors: powers } of exponent.above.values()) {
    const multiple = times(algebra.budget, coefficient, invertRational(one.coefficient));
    const part =
      powers.length === 0
        ? raiseToPower(algebra, base, algebra.number(multiple))
        : makeExponential(algebra, base, algebra.key(algebra.single({ coefficient: ONE, factors: powers })), multiple);
    product = algebra.times(product, part);
  }
  return product;
}

/** Returns (base^KEY)^size. A positive number is split into its factors, so that 4^n is 2^n squared. */
function makeExponential(algebra: Algebra, base: Quotient, key: string, size: Rational): Quotient {
  const atom = (name: string, powers: bigint): Quotient => {
    const numerator = size.numerator * powers;
    if (numerator > 1_000_000n || numerator < -1_000_000n || size.denominator > 1000n) {
      throw new LimitReached();
    }
    const factor = makeFactor(`${name}^(${key})`, Number(numerator), Number(size.denominator));
    return algebra.atom(factor.atom, factor.numerator, factor.denominator);
  };
  const number = algebra.rational(base);
  if (number !== null && number.numerator > 0n) {
    let product = algebra.number(toRational(1));
    for (const { base: prime, power: count } of factorInteger(algebra.budget, number.numerator)) {
      product = algebra.times(product, atom(String(prime), BigInt(count)));
    }
    for (const { base: prime, power: count } of factorInteger(algebra.budget, number.denominator)) {
      product = algebra.times(product, atom(String(prime), BigInt(-count)));
    }
    return product;
  }
  const term = singleTerm(base.above);
  const [factor, second] = term?.factors ?? [];
  const isAtom = factor !== undefined && second === undefined && factor.numerator === 1 && factor.denominator === 1;
  const name =
    isAtom && algebra.equal(base, algebra.atom(factor.atom)) ? factor.atom : `(${algebra.quotientKey(base)})`;
  return atom(name, 1n);
}

function approximatePolynomial(sum: Polynomial): number | null {
  let total = 0;
  for (const { coefficient, factors: powers } of sum.values()) {
    let size = toDouble(coefficient);
    for (const { atom, numerator, denominator } of powers) {
      const base = atom === 'pi' ? Math.PI : atom === 'e' ? Math.E : /^#\d+$/.test(atom) ? Number(atom.slice(1)) : null;
      if (base === null) {
        return null;
      }
      size *= base ** (numerator / denominator);
    }
    total += size;
  }
  return total;
}
