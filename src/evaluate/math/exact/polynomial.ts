/**
 * The normal form of an expression: a quotient of polynomials with rational coefficients over atoms
 * with rational powers. Atoms are `#p` (an integer under a root, with a power between 0 and 1), `i`, a
 * variable or constant by name, a function such as `sin(KEY)`, an exponential such as `2^(KEY)`, and
 * `√(KEY)` (a sum under a root, with a power between 0 and 1). Roots of distinct primes are linearly
 * independent over the rationals, so the form is unique for numbers built from them.
 */

import { LimitReached, LIMITS, Unreadable, type Budget } from './budget.ts';
import {
  greatestCommonDivisor,
  invertRational,
  negateRational,
  ONE,
  plus,
  times,
  toRational,
  raiseToInteger,
} from './numbers.ts';
import type { Rational } from './rational.ts';

/** An atom to the power numerator / denominator, in lowest terms. */
export interface Factor {
  readonly atom: string;
  readonly numerator: number;
  readonly denominator: number;
}

export interface Term {
  readonly coefficient: Rational;
  /** Sorted by atom; no power is 0. */
  readonly factors: readonly Factor[];
}

/** Terms by the key of their factors; no coefficient is 0. */
export type Polynomial = ReadonlyMap<string, Term>;

/** A quotient whose `below` is never 0. */
export interface Quotient {
  readonly above: Polynomial;
  readonly below: Polynomial;
}

export const isRoot = (atom: string): boolean => atom.startsWith('#') || isGroup(atom);
export const isGroup = (atom: string): boolean => atom.startsWith('√');

/** Polynomials and quotients under one budget. Values of one Algebra must not be mixed with another's. */
export class Algebra {
  readonly budget: Budget;
  readonly zero: Polynomial = new Map<string, Term>();
  /** The sums that the atoms `√(KEY)` represent. */
  private readonly groups = new Map<string, Polynomial>();

  constructor(budget: Budget) {
    this.budget = budget;
  }

  constant(value: Rational): Polynomial {
    return this.single({ coefficient: value, factors: [] });
  }

  /** Returns a value of one atom. */
  atom(name: string, numerator = 1, denominator = 1): Quotient {
    return this.quotient(this.single({ coefficient: ONE, factors: [{ atom: name, numerator, denominator }] }));
  }

  number(value: Rational): Quotient {
    return this.quotient(this.constant(value));
  }

  single(term: Term): Polynomial {
    return term.coefficient.numerator === 0n ? this.zero : new Map([[factorsKey(term.factors), term]]);
  }

  quotient(above: Polynomial): Quotient {
    return { above, below: this.constant(ONE) };
  }

  /** Returns the atom that represents a sum under a root. */
  group(sum: Polynomial): string {
    const name = `√(${this.key(sum)})`;
    this.groups.set(name, sum);
    return name;
  }

  sum(a: Polynomial, b: Polynomial): Polynomial {
    const total = new Map(a);
    for (const term of b.values()) {
      this.add(total, term);
    }
    return total;
  }

  /** @throws LimitReached */
  product(a: Polynomial, b: Polynomial): Polynomial {
    const total = new Map<string, Term>();
    for (const left of a.values()) {
      for (const right of b.values()) {
        for (const term of this.termProduct(left, right).values()) {
          this.add(total, term);
        }
      }
    }
    return total;
  }

  scaled(a: Polynomial, by: Rational): Polynomial {
    return this.product(a, this.constant(by));
  }

  plus(a: Quotient, b: Quotient): Quotient {
    const sameBelow = this.key(a.below) === this.key(b.below);
    if (sameBelow) {
      return this.reduced({ above: this.sum(a.above, b.above), below: a.below });
    }
    const above = this.sum(this.product(a.above, b.below), this.product(b.above, a.below));
    return this.reduced({ above, below: this.product(a.below, b.below) });
  }

  minus(a: Quotient, b: Quotient): Quotient {
    return this.plus(a, this.negated(b));
  }

  negated(a: Quotient): Quotient {
    return { above: this.scaled(a.above, toRational(-1)), below: a.below };
  }

  times(a: Quotient, b: Quotient): Quotient {
    return this.reduced({ above: this.product(a.above, b.above), below: this.product(a.below, b.below) });
  }

  /** @throws Unreadable for a division by zero */
  inverted(a: Quotient): Quotient {
    return this.reduced({ above: a.below, below: a.above });
  }

  isZero(a: Quotient): boolean {
    return a.above.size === 0;
  }

  equal(a: Quotient, b: Quotient): boolean {
    return (
      this.sum(this.product(a.above, b.below), this.scaled(this.product(b.above, a.below), toRational(-1))).size === 0
    );
  }

  /** Returns the number k with a = k b if there is one and neither value is 0, else null. */
  constantRatio(a: Quotient, b: Quotient): Rational | null {
    const left = this.product(a.above, b.below);
    const right = this.product(b.above, a.below);
    const first = left.entries().next().value;
    const partner = first === undefined ? undefined : right.get(first[0]);
    if (first === undefined || partner === undefined) {
      return null;
    }
    const factor = times(this.budget, first[1].coefficient, invertRational(partner.coefficient));
    return this.sum(left, this.scaled(right, negateRational(factor))).size === 0 ? factor : null;
  }

  /** Returns a value as a number, or null if it contains atoms. */
  rational(a: Quotient): Rational | null {
    if (this.isZero(a)) {
      return toRational(0);
    }
    const above = singleTerm(a.above);
    const below = singleTerm(a.below);
    if (above === null || below === null || above.factors.length > 0 || below.factors.length > 0) {
      return null;
    }
    return times(this.budget, above.coefficient, invertRational(below.coefficient));
  }

  /**
   * Returns the canonical text of a polynomial.
   * @throws LimitReached
   */
  key(a: Polynomial): string {
    const keys = [...a.keys()].sort();
    const text = keys.map((key) => `${formatCoefficient(a.get(key)?.coefficient ?? ONE)}*${key}`).join('+');
    if (text.length > LIMITS.key) {
      throw new LimitReached();
    }
    this.budget.spend(keys.length + text.length / 64);
    return text;
  }

  /** Returns the canonical text of a value, scaled so that the first term below has the coefficient 1. */
  quotientKey(a: Quotient): string {
    const first = a.below.get([...a.below.keys()].sort()[0] ?? '');
    const scale = invertRational(first?.coefficient ?? ONE);
    return `${this.key(this.scaled(a.above, scale))}/${this.key(this.scaled(a.below, scale))}`;
  }

  /**
   * Moves a single term below into the polynomial above.
   * @throws Unreadable for a division by zero
   */
  reduced(a: Quotient): Quotient {
    if (a.below.size === 0) {
      throw new Unreadable();
    }
    let { above, below } = a;
    for (let term = singleTerm(below); term !== null; term = singleTerm(below)) {
      if (term.factors.length === 0 && term.coefficient.numerator === 1n && term.coefficient.denominator === 1n) {
        break;
      }
      const group = term.factors.find(({ atom }) => isGroup(atom));
      if (group === undefined) {
        above = this.product(above, this.single(invertTerm(term)));
        below = this.constant(ONE);
      } else {
        const missing = this.single({
          coefficient: ONE,
          factors: [{ ...group, numerator: group.denominator - group.numerator }],
        });
        above = this.product(above, missing);
        below = this.product(below, missing);
      }
    }
    return { above, below };
  }

  private add(total: Map<string, Term>, term: Term): void {
    this.budget.spend(1);
    const key = factorsKey(term.factors);
    const held = total.get(key);
    const coefficient = held === undefined ? term.coefficient : plus(this.budget, held.coefficient, term.coefficient);
    if (coefficient.numerator === 0n) {
      total.delete(key);
    } else {
      total.set(key, { coefficient, factors: term.factors });
    }
    if (total.size > LIMITS.terms) {
      throw new LimitReached();
    }
  }

  private termProduct(a: Term, b: Term): Polynomial {
    this.budget.spend(2 + a.factors.length + b.factors.length);
    let coefficient = times(this.budget, a.coefficient, b.coefficient);
    const kept: Factor[] = [];
    const expanded: Polynomial[] = [];
    for (const factor of mergeFactors(a.factors, b.factors)) {
      const rest = this.reduce(factor);
      coefficient = times(this.budget, coefficient, rest.coefficient);
      if (rest.factor !== null) {
        kept.push(rest.factor);
      }
      if (rest.expanded !== null) {
        expanded.push(rest.expanded);
      }
    }
    return expanded.reduce((product, sum) => this.product(product, sum), this.single({ coefficient, factors: kept }));
  }

  /** Takes whole powers out of roots, and squares out of powers of the imaginary unit. */
  private reduce(factor: Factor): {
    readonly coefficient: Rational;
    readonly factor: Factor | null;
    readonly expanded: Polynomial | null;
  } {
    const { atom, numerator, denominator } = factor;
    if (atom === 'i' && denominator === 1) {
      const turn = ((numerator % 4) + 4) % 4;
      return {
        coefficient: toRational(turn < 2 ? 1 : -1),
        factor: turn % 2 === 0 ? null : { atom, numerator: 1, denominator },
        expanded: null,
      };
    }
    if (!isRoot(atom)) {
      return { coefficient: ONE, factor: numerator === 0 ? null : factor, expanded: null };
    }
    const turns = Math.floor(numerator / denominator);
    const left = numerator - turns * denominator;
    const rest = left === 0 ? null : { atom, numerator: left, denominator };
    if (atom.startsWith('#')) {
      return {
        coefficient: raiseToInteger(this.budget, toRational(BigInt(atom.slice(1))), turns),
        factor: rest,
        expanded: null,
      };
    }
    // Two powers below 1 sum to less than 2, so there is at most one whole turn.
    return { coefficient: ONE, factor: rest, expanded: turns === 0 ? null : (this.groups.get(atom) ?? null) };
  }
}

/** Returns the term of a polynomial with exactly one term, or null. */
export function singleTerm(a: Polynomial): Term | null {
  const [term, second] = a.values();
  return term === undefined || second !== undefined ? null : term;
}

/**
 * Returns an atom to the power a / b, in lowest terms.
 * @throws LimitReached
 */
export function makeFactor(atom: string, numerator: number, denominator: number): Factor {
  const divisor = smallCommonDivisor(numerator, denominator);
  if (Math.abs(numerator / divisor) > 1e9 || denominator / divisor > 1e4) {
    throw new LimitReached();
  }
  return { atom, numerator: numerator / divisor, denominator: denominator / divisor };
}

/** Returns the greatest common rational divisor of the coefficients, which is positive. */
export function greatestRationalDivisor(budget: Budget, a: Polynomial): Rational {
  let numerator = 0n;
  let denominator = 1n;
  for (const { coefficient } of a.values()) {
    numerator = greatestCommonDivisor(budget, numerator, coefficient.numerator);
    denominator = budget.size(
      (denominator / greatestCommonDivisor(budget, denominator, coefficient.denominator)) * coefficient.denominator,
    );
  }
  return { numerator, denominator };
}

function invertTerm({ coefficient, factors }: Term): Term {
  return {
    coefficient: invertRational(coefficient),
    factors: factors.map((factor) => ({ ...factor, numerator: -factor.numerator })),
  };
}

/** Returns both lists as one, sorted; powers of equal atoms are added and may become 0. */
function mergeFactors(a: readonly Factor[], b: readonly Factor[]): readonly Factor[] {
  const all = new Map(a.map((factor) => [factor.atom, factor]));
  for (const factor of b) {
    const held = all.get(factor.atom);
    all.set(
      factor.atom,
      held === undefined
        ? factor
        : makeFactor(
            factor.atom,
            held.numerator * factor.denominator + factor.numerator * held.denominator,
            held.denominator * factor.denominator,
          ),
    );
  }
  return [...all.values()].sort((left, right) => (left.atom < right.atom ? -1 : 1));
}

function factorsKey(factors: readonly Factor[]): string {
  return factors.map(({ atom, numerator, denominator }) => `${atom}^${numerator}/${denominator}`).join('*');
}

function formatCoefficient({ numerator, denominator }: Rational): string {
  return `${numerator.toString(16)}:${denominator.toString(16)}`;
}

function smallCommonDivisor(a: number, b: number): number {
  let divisor = Math.abs(a);
  for (let rest = Math.abs(b); rest !== 0;) {
    [divisor, rest] = [rest, divisor % rest];
  }
  return divisor === 0 ? 1 : divisor;
}
