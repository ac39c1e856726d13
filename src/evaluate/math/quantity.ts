/** Reads quantities: a number or expression with its unit, its percent sign and the way it was written. */

import { bracketStep } from './brackets.ts';
import { parseChineseNumber } from './characters.ts';
import { Unreadable } from './exact/budget.ts';
import { toRational } from './exact/numbers.ts';
import type { Algebra, Quotient } from './exact/polynomial.ts';
import { readExpression } from './expression.ts';
import { FUNCTIONS, tokenizeAnswer, type Token } from './lex.ts';
import { splitChineseNumber, findCurrency, readUnit } from './units.ts';
import type { Quantity, Value, Written } from './valueForms.ts';

/** The letters of choices, as many as multiple-choice tests offer. */
const CHOICE = /^[A-Ja-j]$/u;

/** Reads a name that is marked as a choice: in brackets or in \text. */
export function readChoiceLetter(tokens: readonly Token[], algebra: Algebra): Value {
  const value = readQuantity(tokens, algebra);
  return value.kind === 'quantity' && CHOICE.test(tokens[0]?.text ?? '') ? { ...value, choice: true } : value;
}

/** Reads a number or expression with its unit, or two of them if it has a plus-minus sign. */
export function readQuantity(tokens: readonly Token[], algebra: Algebra): Value {
  const numeric = readNumericQuantity(tokens, algebra);
  if (numeric !== null) {
    return numeric;
  }
  const chinese = readChineseQuantity(tokens, algebra);
  if (chinese !== null) {
    return chinese;
  }
  return readForkedQuantity(tokens, tokens, null, algebra);
}

/** Reads a number with money in front or a unit after it; null without either. */
function readNumericQuantity(tokens: readonly Token[], algebra: Algebra): Value | null {
  const signs = tokens[0]?.text === '-' || tokens[0]?.text === '+' ? 1 : 0;
  const money = findCurrency(tokens[signs]?.text ?? '') ?? null;
  const lastMoney = findCurrency(tokens.at(-1)?.text ?? '');
  const bare =
    money !== null
      ? [...tokens.slice(0, signs), ...tokens.slice(signs + 1)]
      : lastMoney !== null
        ? tokens.slice(0, -1)
        : tokens;
  let depth = 0;
  for (const [at, token] of bare.entries()) {
    depth += bracketStep(token);
    if (at === 0 || (token.kind !== 'word' && token.kind !== 'name') || depth !== 0) {
      continue;
    }
    algebra.budget.spend(1);
    const number = bare.slice(0, at);
    // In 2 + g, the g is a term. In sin 30°, the degrees are not a unit of the value.
    if (
      /^[-+*/]$/u.test(bare[at - 1]?.text ?? '') ||
      (token.text === 'degree' && number.some(({ text }) => FUNCTIONS.has(text)))
    ) {
      continue;
    }
    const numeric = number.every(
      ({ kind, text }) => kind === 'number' || (kind === 'symbol' && text !== '_') || text === 'pi',
    );
    const unit = readUnit(bare.slice(at), numeric);
    if (unit === null) {
      continue;
    }
    const name = money ?? lastMoney ?? unit.name;
    if (money !== null && unit.name !== null && unit.name !== money) {
      throw new Unreadable();
    }
    const read = readForkedQuantity(number, number, name, algebra);
    if (unit.multiple === 1n) {
      return read;
    }
    if (read.kind !== 'quantity') {
      throw new Unreadable();
    }
    return {
      ...read,
      value: algebra.times(read.value, algebra.number(toRational(unit.multiple))),
      written: read.written === 'fraction' ? 'other' : 'whole',
    };
  }
  return money === null && lastMoney === null ? null : readForkedQuantity(bare, bare, money ?? lastMoney, algebra);
}

/** Reads a number in Chinese words and the thing that it counts. */
export function readChineseQuantity(tokens: readonly Token[], algebra: Algebra): Value | null {
  const [first, ...rest] = tokens;
  if (first?.kind !== 'word' || !/^\p{Script=Han}/u.test(first.text)) {
    return null;
  }
  const parts = splitChineseNumber(first.text, (text) => parseChineseNumber(text) !== null);
  const digits = parseChineseNumber(parts?.[0] ?? '');
  if (parts === null || digits === null) {
    return null;
  }
  const unit = parts[1] === '' ? rest : [{ ...first, text: parts[1] }, ...rest];
  return readQuantity([...tokenizeAnswer(digits, algebra.budget), ...unit], algebra);
}

function readForkedQuantity(
  tokens: readonly Token[],
  written: readonly Token[],
  unit: string | null,
  algebra: Algebra,
): Value {
  const { value, forked: twice, percent } = readExpression(tokens, algebra);
  const one: Quantity = { kind: 'quantity', value, unit, percent, written: classifyWritten(written) };
  const covered = percent && !twice && !isSum(tokens);
  if (covered) {
    return { ...one, unsigned: readExpression(tokens.slice(0, -1), algebra).value };
  }
  if (!twice) {
    return one;
  }
  return { kind: 'list', items: [one, { ...one, value: readExpression(tokens, algebra, false).value }] };
}

/** Returns true if a plus or minus sign joins terms outside all brackets. */
function isSum(tokens: readonly Token[]): boolean {
  let depth = 0;
  return tokens.some((token, at) => {
    depth += bracketStep(token);
    return at > 0 && depth === 0 && token.kind === 'symbol' && /^(?:[-+]|\+-|-\+)$/u.test(token.text);
  });
}

function classifyWritten(tokens: readonly Token[]): Written {
  const bare = tokens.filter(({ text }) => !/^[-+%]$/u.test(text));
  const [first, second] = bare;
  if (bare.length === 1 && first?.kind === 'number') {
    return /^\d+$/u.test(first.text) || first.value?.denominator === 1n ? 'whole' : 'decimal';
  }
  return first?.text === 'frac' || (first?.kind === 'number' && second?.text === '/' && bare.length === 3)
    ? 'fraction'
    : 'other';
}

export function readSingleExpression(tokens: readonly Token[], algebra: Algebra): Quotient {
  const { value, forked: twice } = readExpression(tokens, algebra);
  if (twice) {
    throw new Unreadable();
  }
  return value;
}

export function makeInfinity(algebra: Algebra, sign: 1 | -1): Quantity {
  const endless = algebra.atom('infty');
  return {
    kind: 'quantity',
    value: sign === 1 ? endless : algebra.negated(endless),
    unit: null,
    percent: false,
    written: 'other',
  };
}
