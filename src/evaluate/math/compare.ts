/** Compares two values: exactly, or as leniently as the published grader. */

import { negateRational, plus, toRational } from './exact/numbers.ts';
import type { Algebra, Quotient } from './exact/polynomial.ts';
import { approximateValue } from './exact/powers.ts';
import type { Quantity, Relation, Value } from './valueForms.ts';

export type Grader = 'strict' | 'lenient';

export interface Outcome {
  readonly equal: boolean;
  /** The rule that decided; see RULES in grade.ts. */
  readonly how: string;
}

/** The rule that made a pair equal, such as `equal choices`; `how` is null if it is equal as written. */
type Match = { readonly how: string | null } | null;

const EXACT: Match = { how: null };
const WITHOUT_PERCENT: Match = { how: 'equal, percent sign left out' };
const ROUNDED: Match = { how: 'lenient, rounds to the whole gold number' };
const CHOICE_VALUE: Match = { how: 'equal choices' };
const CHOICE: Match = { how: 'equal, letter case of a choice left out' };

/**
 * Compares a value with the gold value.
 * @throws LimitReached
 */
export function compareValues(gold: Value, answer: Value, grader: Grader, algebra: Algebra): Outcome {
  const match = new Comparison(grader, algebra).match(gold, answer);
  if (match === null) {
    return { equal: false, how: nameDifference(gold, answer, algebra) };
  }
  return { equal: true, how: match.how ?? `equal ${nameKind(gold, answer, algebra)}` };
}

class Comparison {
  private readonly lenient: boolean;
  private readonly algebra: Algebra;

  constructor(grader: Grader, algebra: Algebra) {
    this.lenient = grader === 'lenient';
    this.algebra = algebra;
  }

  match(gold: Value, answer: Value): Match {
    this.algebra.budget.spend(1);
    if (gold.kind === 'choice' || answer.kind === 'choice') {
      return this.choices(gold, answer);
    }
    if (gold.kind === 'rounded' || answer.kind === 'rounded') {
      return this.rounded(gold, answer);
    }
    if (gold.kind === 'labelled' || answer.kind === 'labelled') {
      return this.labelled(gold, answer);
    }
    if (gold.kind === 'relation' || answer.kind === 'relation') {
      return gold.kind === 'relation' && answer.kind === 'relation' && this.sameRelation(gold.relation, answer.relation)
        ? EXACT
        : null;
    }
    const golds = listSolutions(gold);
    const answers = listSolutions(answer);
    if (golds !== null || answers !== null) {
      if (hasSeveralLabels(golds ?? []) !== hasSeveralLabels(answers ?? [])) {
        return null;
      }
      const asSet = gold.kind === 'set' || answer.kind === 'set';
      return this.unordered(golds ?? [gold], answers ?? [answer], asSet);
    }
    if (gold.kind === 'union' && answer.kind === 'union') {
      return this.unordered(gold.items, answer.items, true);
    }
    if (gold.kind === 'sequence' && answer.kind === 'sequence') {
      return gold.open === answer.open && gold.close === answer.close ? this.ordered(gold.items, answer.items) : null;
    }
    if (gold.kind === 'matrix' && answer.kind === 'matrix') {
      return gold.rows.length === answer.rows.length && gold.rows[0]?.length === answer.rows[0]?.length
        ? this.ordered(gold.rows.flat(), answer.rows.flat())
        : null;
    }
    if (gold.kind === 'text' && answer.kind === 'text') {
      return gold.text === answer.text ? EXACT : null;
    }
    if (gold.kind !== 'quantity' || answer.kind !== 'quantity') {
      return null;
    }
    if (haveSameUnit(gold, answer) && this.algebra.equal(gold.value, answer.value)) {
      return EXACT;
    }
    if (this.equalWithoutPercent(gold, answer)) {
      return WITHOUT_PERCENT;
    }
    if ((gold.choice === true || answer.choice === true) && this.sameLetter(gold.value, answer.value)) {
      return CHOICE;
    }
    return this.lenient ? this.lenientQuantities(gold, answer) : null;
  }

  /** A percent sign that only one side has may be left out, like a unit: 50% equals 50, and also 0.5. */
  private equalWithoutPercent(gold: Quantity, answer: Quantity): boolean {
    if (gold.percent === answer.percent || gold.unit !== null || answer.unit !== null) {
      return false;
    }
    const [signed, bareValue] = gold.percent ? [gold.unsigned, answer.value] : [answer.unsigned, gold.value];
    return signed !== undefined && this.algebra.equal(signed, bareValue);
  }

  /** `(B) 12` equals both B and 12. With another letter or another value it equals neither. */
  private choices(gold: Value, answer: Value): Match {
    if (gold.kind === 'choice' && answer.kind === 'choice') {
      return this.sameLetter(gold.letter, answer.letter) ? this.match(gold.value, answer.value) : null;
    }
    const [choice, other] = gold.kind === 'choice' ? [gold, answer] : [answer, gold];
    if (choice.kind !== 'choice') {
      return null;
    }
    if (other.kind === 'quantity' && (other.choice === true || this.isCapital(other.value))) {
      return this.sameLetter(choice.letter, other.value) ? CHOICE_VALUE : null;
    }
    return gold.kind === 'choice' ? this.match(gold.value, answer) : this.match(gold, choice.value);
  }

  private isCapital(value: Quotient): boolean {
    return /^1:1\*[A-J]\^1\/1\/1:1\*$/u.test(this.algebra.quotientKey(value));
  }

  /** A value with its rounded form equals the exact value, or a decimal if no decimal is exact. */
  private rounded(gold: Value, answer: Value): Match {
    const exact = (value: Value): Value => (value.kind === 'rounded' ? value.exact : value);
    const match = this.match(exact(gold), exact(answer));
    if (match !== null || (gold.kind === 'rounded' && answer.kind === 'rounded')) {
      return match;
    }
    const [both, other] = gold.kind === 'rounded' ? [gold, answer] : [answer, gold];
    const value = withoutLabel(both);
    if (both.kind !== 'rounded' || value.kind !== 'quantity' || isNumber(value, this.algebra)) {
      return null;
    }
    const isDecimal = other.kind === 'quantity' && other.written === 'decimal';
    return isDecimal
      ? this.match(gold.kind === 'rounded' ? both.rounded : gold, other === gold ? both.rounded : other)
      : null;
  }

  private sameLetter(gold: Quotient, answer: Quotient): boolean {
    const [first = '', second = ''] = [gold, answer].map((value) => this.algebra.quotientKey(value).toLowerCase());
    return first === second && /^1:1\*[a-z]\^1\/1\/1:1\*$/u.test(first);
  }

  /** A label on only one side is ignored. Two different variables may still make the same equation. */
  private labelled(gold: Value, answer: Value): Match {
    const goldLabel = gold.kind === 'labelled' ? gold.label : '';
    const answerLabel = answer.kind === 'labelled' ? answer.label : '';
    const goldRelation = getRelation(gold);
    const answerRelation = getRelation(answer);
    const sides = goldRelation !== null && answerRelation !== null && this.sameRelation(goldRelation, answerRelation);
    if (sides) {
      return EXACT;
    }
    if (gold.kind === 'relation' || answer.kind === 'relation') {
      return null;
    }
    if (goldLabel !== answerLabel && isVariable(goldLabel) && isVariable(answerLabel)) {
      return null;
    }
    return this.match(gold.kind === 'labelled' ? gold.value : gold, answer.kind === 'labelled' ? answer.value : answer);
  }

  /**
   * Returns true for the same solutions: one difference is a constant times the other, and the constant
   * is positive for an inequality. A relation that always or never holds is not an equation.
   */
  private sameRelation(gold: Relation, answer: Relation): boolean {
    if (gold.operator !== answer.operator) {
      return false;
    }
    const factor = this.algebra.constantRatio(gold.difference, answer.difference);
    if (factor === null || this.algebra.rational(gold.difference) !== null) {
      return false;
    }
    return gold.operator === '=' || gold.operator === '!=' || factor.numerator > 0n;
  }

  private ordered(golds: readonly Value[], answers: readonly Value[]): Match {
    if (golds.length !== answers.length) {
      return null;
    }
    let how: string | null = null;
    for (const [at, gold] of golds.entries()) {
      const answer = answers[at];
      const match = answer === undefined ? null : this.match(gold, answer);
      if (match === null) {
        return null;
      }
      how = furtherRule(how, match.how);
    }
    return { how };
  }

  private unordered(golds: readonly Value[], answers: readonly Value[], asSet: boolean): Match {
    const expected = asSet ? this.distinct(golds) : golds;
    const rest = [...(asSet ? this.distinct(answers) : answers)];
    if (expected.length !== rest.length) {
      return null;
    }
    let how: string | null = null;
    for (const gold of expected) {
      let found: Match = null;
      let foundAt = -1;
      for (const [at, answer] of rest.entries()) {
        const match = this.match(gold, answer);
        // Equal as written goes before equal by a rule: in {50%, 50}, 50 is 50 and 0.5 is 50%.
        if (match === null || (found !== null && match.how !== null)) {
          continue;
        }
        [found, foundAt] = [match, at];
        if (match.how === null) {
          break;
        }
      }
      if (found === null) {
        return null;
      }
      rest.splice(foundAt, 1);
      how = furtherRule(how, found.how);
    }
    return { how };
  }

  private distinct(items: readonly Value[]): readonly Value[] {
    const exact = new Comparison('strict', this.algebra);
    const kept: Value[] = [];
    for (const item of items) {
      if (!kept.some((other) => exact.match(other, item)?.how === null)) {
        kept.push(item);
      }
    }
    return kept;
  }

  /**
   * Applies the published rule: units and percent signs dropped, integers by rounding, decimals within 4
   * % in size, and other values, if positive, within 4 %.
   */
  private lenientQuantities(gold: Quantity, answer: Quantity): Match {
    const algebra = this.algebra;
    const hundred = algebra.number(toRational(100));
    const [expected, given] = [gold, answer].map(({ value, percent }) =>
      percent ? algebra.times(value, hundred) : value,
    );
    if (expected === undefined || given === undefined) {
      return null;
    }
    if (algebra.equal(expected, given)) {
      return { how: 'lenient, unit or percent sign left out' };
    }
    if (this.sameLetter(expected, given)) {
      return { how: 'lenient, letter case left out' };
    }
    const goldSize = approximateValue(algebra, expected);
    const size = approximateValue(algebra, given);
    if (goldSize === null || size === null || (gold.written === 'fraction' && answer.written === 'fraction')) {
      return null;
    }
    const asFloats = isPlainNumber(gold) && isPlainNumber(answer);
    if (asFloats && gold.written === 'whole') {
      return roundHalfToEven(size) === goldSize ? ROUNDED : null;
    }
    if (!asFloats && goldSize < 0) {
      return null;
    }
    return this.isWithin(expected, given, goldSize, size) ? { how: 'lenient, within 4 % of the gold' } : null;
  }

  /** Returns true within 4 % of |gold|. Exact for rationals, since 0.52 is just within 4 % of 0.5. */
  private isWithin(gold: Quotient, answer: Quotient, goldSize: number, size: number): boolean {
    const expected = this.algebra.rational(gold);
    const given = this.algebra.rational(answer);
    if (expected === null || given === null) {
      return Math.abs(goldSize - size) <= 0.04 * Math.abs(goldSize);
    }
    const apart = plus(this.algebra.budget, expected, negateRational(given));
    return (
      25n * absoluteBigint(apart.numerator) * expected.denominator <=
      absoluteBigint(expected.numerator) * apart.denominator
    );
  }
}

/** Returns the rule that goes further: a lenient one before another. */
function furtherRule(first: string | null, second: string | null): string | null {
  const isLenient = (how: string | null): boolean => how?.startsWith('lenient') === true;
  return second === null || (isLenient(first) && !isLenient(second)) ? first : second;
}

const isPlainNumber = ({ written }: Quantity): boolean => written === 'whole' || written === 'decimal';

const absoluteBigint = (value: bigint): bigint => (value < 0n ? -value : value);

function roundHalfToEven(size: number): number {
  const below = Math.floor(size);
  if (size - below !== 0.5) {
    return Math.round(size);
  }
  return below % 2 === 0 ? below : below + 1;
}

/** Returns the members of a value that lists solutions in any order, or null. */
function listSolutions(value: Value): readonly Value[] | null {
  return value.kind === 'set' || value.kind === 'list' ? value.items : null;
}

/** x = 2, y = 3 is not 2, 3, because the assignment would be lost. */
function hasSeveralLabels(items: readonly Value[]): boolean {
  return new Set(items.map((item) => (item.kind === 'labelled' ? item.label : ''))).size > 1;
}

function haveSameUnit(gold: Quantity, answer: Quantity): boolean {
  return gold.unit === null || answer.unit === null || gold.unit === answer.unit;
}

function getRelation(value: Value): Relation | null {
  return value.kind === 'labelled' || value.kind === 'relation' ? value.relation : null;
}

const isVariable = (label: string): boolean => /^\p{L}[\w']*$/u.test(label);

function withoutLabel(value: Value): Value {
  switch (value.kind) {
    case 'labelled':
    case 'choice':
      return withoutLabel(value.value);
    case 'rounded':
      return withoutLabel(value.exact);
    default:
      return value;
  }
}

function nameKind(gold: Value, answer: Value, algebra: Algebra): string {
  const [first, second] = [withoutLabel(gold), withoutLabel(answer)];
  if (first.kind !== second.kind) {
    return 'values';
  }
  switch (first.kind) {
    case 'quantity':
      return second.kind === 'quantity' && isNumber(first, algebra) && isNumber(second, algebra)
        ? 'numbers'
        : 'expressions';
    case 'sequence':
      return first.items.length === 2 ? 'tuples or intervals' : 'tuples';
    case 'set':
      return 'sets';
    case 'list':
      return 'lists';
    case 'union':
      return 'unions';
    case 'matrix':
      return 'matrices';
    case 'text':
      return 'texts';
    case 'labelled':
    case 'choice':
    case 'rounded':
    case 'relation':
      return 'relations';
  }
}

function nameDifference(gold: Value, answer: Value, algebra: Algebra): string {
  const [first, second] = [withoutLabel(gold), withoutLabel(answer)];
  if (first.kind === 'quantity' && second.kind === 'quantity' && !haveSameUnit(first, second)) {
    return 'different units';
  }
  return first.kind === second.kind ? `different ${nameKind(gold, answer, algebra)}` : 'different kinds';
}

function isNumber({ value }: Quantity, algebra: Algebra): boolean {
  return algebra.rational(value) !== null;
}
