/** Reads tokens as one expression in normal form, by recursive descent. */

import { LimitReached, LIMITS, Unreadable } from './exact/budget.ts';
import { evaluateCircular, exactLogarithm } from './exact/functions.ts';
import { ONE, reduceFraction, toRational } from './exact/numbers.ts';
import type { Algebra, Quotient } from './exact/polynomial.ts';
import { raiseToPower, takeRoot } from './exact/powers.ts';
import { FUNCTIONS, type Token } from './lex.ts';

export interface Expression {
  readonly value: Quotient;
  /** True if a plus-minus sign was read; the expression then has two values. */
  readonly forked: boolean;
  /** True if the expression ends with a percent sign. */
  readonly percent: boolean;
}

/**
 * Returns the value of all the tokens.
 * @param upper true reads a plus-minus as plus and a minus-plus as minus, false the other way round
 * @throws Unreadable, LimitReached
 */
export function readExpression(tokens: readonly Token[], algebra: Algebra, upper = true): Expression {
  return new Reader(tokens, algebra, upper).run();
}

class Reader {
  private readonly tokens: Token[];
  private readonly algebra: Algebra;
  private readonly upper: boolean;
  private at = 0;
  private depth = 0;
  private forked = false;
  /** The number of open absolute values; a bar closes the innermost one. */
  private bars = 0;
  /** The number of function arguments being read; degrees are numbers in them. */
  private angles = 0;

  constructor(tokens: readonly Token[], algebra: Algebra, upper: boolean) {
    this.tokens = tokens.flatMap(separateLetters);
    this.algebra = algebra;
    this.upper = upper;
  }

  run(): Expression {
    const value = this.sum();
    if (this.at < this.tokens.length) {
      throw new Unreadable();
    }
    return { value, forked: this.forked, percent: this.tokens.at(-1)?.text === '%' };
  }

  private peek(): Token | undefined {
    return this.tokens[this.at];
  }

  private takes(text: string): boolean {
    const token = this.peek();
    if (token === undefined || token.kind === 'number' || token.text !== text) {
      return false;
    }
    this.at++;
    return true;
  }

  private expects(text: string): void {
    if (!this.takes(text)) {
      throw new Unreadable();
    }
  }

  /** Reads a leading sign: 1, -1, or null without one. */
  private sign(): 1 | -1 | null {
    if (this.takes('+')) {
      return 1;
    }
    if (this.takes('-')) {
      return -1;
    }
    const upper = this.takes('+-');
    if (!upper && !this.takes('-+')) {
      return null;
    }
    this.forked = true;
    return upper === this.upper ? 1 : -1;
  }

  private sum(): Quotient {
    if (++this.depth > LIMITS.depth) {
      throw new LimitReached();
    }
    const first = this.sign();
    let total = this.signed(first, this.term());
    for (let sign = this.sign(); sign !== null; sign = this.sign()) {
      total = this.algebra.plus(total, this.signed(sign, this.term()));
    }
    this.depth--;
    return total;
  }

  private signed(sign: 1 | -1 | null, value: Quotient): Quotient {
    return sign === -1 ? this.algebra.negated(value) : value;
  }

  private term(): Quotient {
    let product = this.factor();
    for (;;) {
      this.algebra.budget.spend(1);
      const divides = this.takes('/');
      if (divides || this.takes('*')) {
        const sign = this.takes('-') ? -1 : null;
        const next = this.signed(sign, this.factor());
        product = this.algebra.times(product, divides ? this.algebra.inverted(next) : next);
      } else if (this.continues()) {
        product = this.algebra.times(product, this.factor());
      } else {
        return product;
      }
    }
  }

  /** Returns true if a factor follows without a sign. A number does not: it would read as more digits. */
  private continues(): boolean {
    const next = this.peek();
    if (next === undefined || next.kind === 'number' || next.kind === 'matrix') {
      return false;
    }
    if (next.kind !== 'symbol') {
      return true;
    }
    return /^(?:[({[]|frac|sqrt|surd|cbrt|binom)$/u.test(next.text) || (next.text === '|' && this.bars === 0);
  }

  private factor(): Quotient {
    let value = this.primary();
    for (;;) {
      if (this.takes('!')) {
        value = this.algebra.number(toRational(computeFactorial(this.natural(value), this.algebra)));
      } else if (this.takes('%')) {
        value = this.algebra.times(value, this.algebra.number({ numerator: 1n, denominator: 100n }));
      } else if (this.angles > 0 && this.takes('degree')) {
        const degree = this.algebra.number({ numerator: 1n, denominator: 180n });
        value = this.algebra.times(value, this.algebra.times(degree, this.algebra.atom('pi')));
      } else if (this.takes('^')) {
        return raiseToPower(this.algebra, value, this.exponent());
      } else {
        return value;
      }
    }
  }

  /** Reads a sign and a factor with its own exponent after ^, so that powers group from the right. */
  private exponent(): Quotient {
    if (++this.depth > LIMITS.depth) {
      throw new LimitReached();
    }
    const sign = this.sign();
    const value = this.signed(sign, this.factor());
    this.depth--;
    return value;
  }

  private primary(): Quotient {
    this.algebra.budget.spend(1);
    const token = this.peek();
    if (token === undefined) {
      throw new Unreadable();
    }
    this.at++;
    if (token.kind === 'number') {
      return this.mixed(token);
    }
    if (token.kind === 'name') {
      return this.named(token);
    }
    if (token.kind !== 'symbol') {
      throw new Unreadable();
    }
    switch (token.text) {
      case '(':
        return this.closed(')');
      case '[':
        return this.closed(']');
      case '{':
        return this.closed('}');
      case '|':
        return this.absolute();
      case 'frac': {
        const above = this.argument();
        return this.algebra.times(above, this.algebra.inverted(this.argument()));
      }
      case 'binom':
        return this.binomial();
      case 'sqrt':
        return takeRoot(this.algebra, ...this.rootArguments());
      case 'surd':
        return takeRoot(this.algebra, this.primary(), 2);
      case 'cbrt':
        return takeRoot(this.algebra, this.primary(), 3);
      default:
        throw new Unreadable();
    }
  }

  private closed(by: string): Quotient {
    const bars = this.bars;
    this.bars = 0;
    const value = this.sum();
    this.expects(by);
    this.bars = bars;
    return value;
  }

  private absolute(): Quotient {
    this.bars++;
    const value = this.sum();
    this.expects('|');
    this.bars--;
    const number = this.algebra.rational(value);
    if (number !== null) {
      return this.algebra.number(number.numerator < 0n ? { ...number, numerator: -number.numerator } : number);
    }
    // |x| is |-x|: the smaller of the two keys represents both.
    const keys = [value, this.algebra.negated(value)].map((side) => this.algebra.quotientKey(side)).sort();
    return this.algebra.atom(`abs(${keys[0] ?? ''})`);
  }

  /** Reads a number, or a mixed number: a whole number directly followed by a proper fraction of digits. */
  private mixed(token: Token): Quotient {
    const { budget } = this.algebra;
    const number = token.value ?? ONE;
    const part = /^\d+$/u.test(token.text) ? this.properFraction() : null;
    if (part === null) {
      return this.algebra.number(number);
    }
    this.at += part.length;
    return this.algebra.number(reduceFraction(budget, number.numerator * part.below + part.above, part.below));
  }

  private properFraction(): { readonly above: bigint; readonly below: bigint; readonly length: number } | null {
    const texts = this.tokens.slice(this.at, this.at + 7).map(({ text }) => text);
    const inLatex =
      /^frac (?:\{ (\d+) \}|(\d)) (?:\{ (\d+) \}|(\d))(?: |$)/u.exec(texts.join(' ')) ??
      /^frac (\d)(\d)( |$)/u.exec(texts.join(' '));
    const first = this.peek();
    const plain =
      first?.kind === 'number' && first.space && texts[1] === '/'
        ? /^(\d+) \/ (\d+)(?: |$)/u.exec(texts.join(' '))
        : null;
    const digits = (inLatex ?? plain)?.slice(1).filter((group) => /^\d+$/u.test(group)) ?? [];
    const [above, below] = digits.map((group) => BigInt(group));
    if (above === undefined || below === undefined || above >= below) {
      return null;
    }
    return { above, below, length: (inLatex ?? plain)?.[0].trim().split(' ').length ?? 0 };
  }

  /** Reads an argument of a LaTeX command: a group, or the next digit or item alone. */
  private argument(): Quotient {
    const token = this.peek();
    if (token?.kind !== 'number' || !/^\d+$/u.test(token.text)) {
      return this.primary();
    }
    const [first, rest] = [token.text.slice(0, 1), token.text.slice(1)];
    if (rest === '') {
      this.at++;
    } else {
      this.tokens[this.at] = { ...token, text: rest, value: toRational(BigInt(rest)) };
    }
    return this.algebra.number(toRational(BigInt(first)));
  }

  private rootArguments(): [Quotient, number] {
    let order = 2;
    if (this.takes('[')) {
      order = Number(this.natural(this.closed(']')));
    }
    return [this.argument(), order];
  }

  private binomial(): Quotient {
    const above = this.natural(this.argument());
    const below = this.natural(this.argument());
    if (above > 200n) {
      throw new LimitReached();
    }
    if (below > above) {
      return this.algebra.number(toRational(0));
    }
    const choices =
      computeFactorial(above, this.algebra) /
      (computeFactorial(below, this.algebra) * computeFactorial(above - below, this.algebra));
    return this.algebra.number(toRational(choices));
  }

  /**
   * Returns a whole number of at least 0.
   * @throws Unreadable for any other value
   */
  private natural(value: Quotient): bigint {
    const number = this.algebra.rational(value);
    if (number === null || number.denominator !== 1n || number.numerator < 0n) {
      throw new Unreadable();
    }
    return number.numerator;
  }

  private named(token: Token): Quotient {
    const name = token.text;
    if (!FUNCTIONS.has(name)) {
      return this.algebra.atom(name);
    }
    const base = this.takes('_') ? this.argument() : null;
    let label = base === null ? name : `${name}_${this.algebra.quotientKey(base)}`;
    let outer: Quotient | null = null;
    if (this.takes('^')) {
      outer = this.exponent();
    }
    const argument = this.functionArgument();
    const minusOne = outer !== null && this.algebra.equal(outer, this.algebra.number(toRational(-1)));
    if (name === 'exp') {
      return raiseToPower(this.algebra, this.algebra.atom('e'), argument);
    }
    if (minusOne && /^(?:sin|cos|tan)$/u.test(name)) {
      [label, outer] = [`arc${name}`, null];
    }
    if (minusOne && outer !== null) {
      throw new Unreadable();
    }
    const value =
      this.known(label === name ? name : null, base, argument) ??
      this.algebra.atom(`${label}(${this.algebra.quotientKey(argument)})`);
    return outer === null ? value : raiseToPower(this.algebra, value, outer);
  }

  /** Returns the exact value of a function, or null if the function must stay as an atom. */
  private known(name: string | null, base: Quotient | null, argument: Quotient): Quotient | null {
    if (base !== null) {
      return exactLogarithm(this.algebra, base, argument);
    }
    if (name === 'ln' || name === 'lg') {
      return exactLogarithm(this.algebra, name === 'ln' ? null : this.algebra.number(toRational(10)), argument);
    }
    return name === null ? null : evaluateCircular(this.algebra, name, argument);
  }

  /** Reads a bracket, or the product up to the next sign or function. */
  private functionArgument(): Quotient {
    if (++this.depth > LIMITS.depth) {
      throw new LimitReached();
    }
    this.angles++;
    const bracketed = this.peek()?.text === '(';
    let product = this.factor();
    while (!bracketed && this.continues() && !FUNCTIONS.has(this.peek()?.text ?? '')) {
      product = this.algebra.times(product, this.factor());
    }
    this.angles--;
    this.depth--;
    return product;
  }
}

/** Splits a run of two or three letters into a product of variables. */
function separateLetters(token: Token): readonly Token[] {
  if (token.kind !== 'word' || token.prose || !/^[a-z]{2,3}$/iu.test(token.text)) {
    return [token];
  }
  return Array.from(token.text, (text) => ({ ...token, kind: 'name' as const, text }));
}

function computeFactorial(number: bigint, algebra: Algebra): bigint {
  if (number > 400n) {
    throw new LimitReached();
  }
  let product = 1n;
  for (let factor = 2n; factor <= number; factor++) {
    algebra.budget.spend(1);
    product = algebra.budget.size(product * factor);
  }
  return product;
}
