/** Powers and roots of values in normal form, and their size as doubles. */
import { LimitReached, LIMITS, Unreadable } from './budget.ts';
import {
  exactRoot,
  factors,
  inverse,
  negative,
  ONE,
  plus,
  ratio,
  times,
  toDouble,
  whole,
  wholePower,
} from './numbers.ts';
import {
  content,
  only,
  powerOf,
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
export function power(algebra: Algebra, base: Quotient, exponent: Quotient): Quotient {
  const constant = algebra.rational(exponent);
  if (constant === null) {
    return symbolicPower(algebra, base, exponent);
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
  const rooted = constant.denominator === 1n ? base : root(algebra, base, Number(constant.denominator));
  const raised = algebra.reduced({
    above: wholePolynomialPower(algebra, rooted.above, Number(size)),
    below: wholePolynomialPower(algebra, rooted.below, Number(size)),
  });
  return constant.numerator < 0n ? algebra.inverted(raised) : raised;
}

/**
 * Returns the real root, or an imaginary square root.
 * @throws LimitReached, Unreadable
 */
export function root(algebra: Algebra, value: Quotient, order: number): Quotient {
  if (order < 1 || order > LIMITS.root) {
    throw new LimitReached();
  }
  return algebra.times(rootOf(algebra, value.above, order), algebra.inverted(rootOf(algebra, value.below, order)));
}

/** Returns the size of a real number made of integers, roots, pi and e as a double, else null. */
export function approximate(algebra: Algebra, value: Quotient): number | null {
  const exact = algebra.rational(value);
  if (exact !== null) {
    return toDouble(exact);
  }
  const above = polynomialSize(value.above);
  const below = polynomialSize(value.below);
  const size = above === null || below === null ? NaN : above / below;
  return Number.isFinite(size) ? size : null;
}

function wholePolynomialPower(algebra: Algebra, base: Polynomial, size: number): Polynomial {
  const term = only(base);
  if (base.size === 0) {
    return base;
  }
  if (term !== null && !term.factors.some(({ atom }) => atom.startsWith('√'))) {
    const raised = term.factors.map(({ atom, numerator, denominator }) => powerOf(atom, numerator * size, denominator));
    // The product reduces powers of roots and of the imaginary unit.
    return algebra.product(
      algebra.single({ coefficient: wholePower(algebra.budget, term.coefficient, size), factors: raised }),
      algebra.constant(ONE),
    );
  }
  let product = base;
  for (let done = 1; done < size; done++) {
    product = algebra.product(product, base);
  }
  return product;
}

function rootOf(algebra: Algebra, radicand: Polynomial, order: number): Quotient {
  if (radicand.size === 0) {
    return algebra.quotient(radicand);
  }
  const term = only(radicand);
  if (term !== null) {
    return termRoot(algebra, term, order);
  }
  const { budget } = algebra;
  const denested = order === 2 ? denestedRoot(algebra, radicand) : null;
  if (denested !== null) {
    return denested;
  }
  const common = content(budget, radicand);
  const group = algebra.group(algebra.scaled(radicand, inverse(common)));
  return algebra.times(numberRoot(algebra, common, order), algebra.atom(group, 1, order));
}

function termRoot(algebra: Algebra, { coefficient, factors: powers }: Term, order: number): Quotient {
  const number = numberRoot(algebra, coefficient, order);
  const variables = powers.filter(({ atom }) => !isPositive(atom));
  if (variables.length === 1 && variables.every((factor) => rootKeepsSign(factor, order))) {
    variables.length = 0;
  }
  const plain = powers
    .filter((factor) => !variables.includes(factor))
    .map(({ atom, numerator, denominator }) => powerOf(atom, numerator, denominator * order));
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
function isPositive(atom: string): boolean {
  return atom.startsWith('#') || atom === 'pi' || atom === 'e';
}

/** sqrt(x^3) is x^(3/2), because both need x to be at least 0; but sqrt(x^2) is not x. */
function rootKeepsSign({ atom, numerator, denominator }: Factor, order: number): boolean {
  return (
    atom !== 'i' && denominator === 1 && (numerator % 2 !== 0 || powerOf(atom, numerator, order).numerator % 2 === 0)
  );
}

function numberRoot(algebra: Algebra, value: Rational, order: number): Quotient {
  if (value.numerator < 0n) {
    const positive = numberRoot(algebra, negative(value), order);
    if (order % 2 === 1) {
      return algebra.negated(positive);
    }
    if (order !== 2) {
      throw new Unreadable();
    }
    return algebra.times(positive, algebra.atom('i'));
  }
  const powers = [
    ...factors(algebra.budget, value.numerator).map(({ base, power: size }) => powerOf(`#${base}`, size, order)),
    ...factors(algebra.budget, value.denominator).map(({ base, power: size }) => powerOf(`#${base}`, -size, order)),
  ].sort((left, right) => (left.atom < right.atom ? -1 : 1));
  return algebra.quotient(
    algebra.product(algebra.single({ coefficient: ONE, factors: powers }), algebra.constant(ONE)),
  );
}

/**
 * Uses sqrt(a + b sqrt(c)) = sqrt((a + s) / 2) +- sqrt((a - s) / 2) if s = sqrt(a^2 - b^2 c) is
 * rational; else returns null.
 */
function denestedRoot(algebra: Algebra, radicand: Polynomial): Quotient | null {
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
  const rest = plus(budget, times(budget, plain.coefficient, plain.coefficient), negative(square));
  if (rest.numerator < 0n) {
    return null;
  }
  const above = exactRoot(budget, rest.numerator, 2);
  const below = exactRoot(budget, rest.denominator, 2);
  if (above === null || below === null) {
    return null;
  }
  const middle = ratio(budget, above, below);
  const half = { numerator: 1n, denominator: 2n };
  const larger = numberRoot(algebra, times(budget, plus(budget, plain.coefficient, middle), half), 2);
  const smaller = numberRoot(algebra, times(budget, plus(budget, plain.coefficient, negative(middle)), half), 2);
  return rooted.coefficient.numerator < 0n ? algebra.minus(larger, smaller) : algebra.plus(larger, smaller);
}

/**
 * Returns base^(a + b m + ...) as base^a (base^m)^b ...: one atom for each term of the exponent that
 * is not a number.
 */
function symbolicPower(algebra: Algebra, base: Quotient, exponent: Quotient): Quotient {
  let product = algebra.number(ONE);
  const one = only(exponent.below);
  if (one === null || one.factors.length > 0) {
    return exponential(algebra, base, algebra.quotientKey(exponent), ONE);
  }
  for (const { coefficient, factors: powers } of exponent.above.values()) {
    const multiple = times(algebra.budget, coefficient, inverse(one.coefficient));
    const part =
      powers.length === 0
        ? power(algebra, base, algebra.number(multiple))
        : exponential(algebra, base, algebra.key(algebra.single({ coefficient: ONE, factors: powers })), multiple);
    product = algebra.times(product, part);
  }
  return product;
}

/** Returns (base^KEY)^size. A positive number is split into its factors, so that 4^n is 2^n squared. */
function exponential(algebra: Algebra, base: Quotient, key: string, size: Rational): Quotient {
  const atom = (name: string, powers: bigint): Quotient => {
    const numerator = size.numerator * powers;
    if (numerator > 1_000_000n || numerator < -1_000_000n || size.denominator > 1000n) {
      throw new LimitReached();
    }
    const factor = powerOf(`${name}^(${key})`, Number(numerator), Number(size.denominator));
    return algebra.atom(factor.atom, factor.numerator, factor.denominator);
  };
  const number = algebra.rational(base);
  if (number !== null && number.numerator > 0n) {
    let product = algebra.number(whole(1));
    for (const { base: prime, power: count } of factors(algebra.budget, number.numerator)) {
      product = algebra.times(product, atom(String(prime), BigInt(count)));
    }
    for (const { base: prime, power: count } of factors(algebra.budget, number.denominator)) {
      product = algebra.times(product, atom(String(prime), BigInt(-count)));
    }
    return product;
  }
  const term = only(base.above);
  const [factor, second] = term?.factors ?? [];
  const isAtom = factor !== undefined && second === undefined && factor.numerator === 1 && factor.denominator === 1;
  const name =
    isAtom && algebra.equal(base, algebra.atom(factor.atom)) ? factor.atom : `(${algebra.quotientKey(base)})`;
  return atom(name, 1n);
}

function polynomialSize(sum: Polynomial): number | null {
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
