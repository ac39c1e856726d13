/**
 * What an answer says: a number or expression with its unit, or a tuple, interval, set, list, union, matrix, equation
 * or text.
 */
import { Unreadable } from './budget.ts';
import { chineseNumber } from './characters.ts';
import { readExpression } from './expression.ts';
import { tokensOf, type Token } from './lex.ts';
import { whole } from './numbers.ts';
import type { Algebra, Quotient } from './polynomial.ts';
import { chineseSplit, moneyOf, unitOf } from './units.ts';

/** How a number was written; the published grader rounds by it. */
export type Written = 'whole' | 'decimal' | 'fraction' | 'other';
export type Operator = '=' | '!=' | '<' | '<=';

export interface Quantity {
  readonly kind: 'quantity';
  readonly value: Quotient;
  readonly unit: string | null;
  readonly percent: boolean;
  readonly written: Written;
  /** What stands before a percent sign: 50 of 50%. Absent where there is none, or where it closes one term of a sum. */
  readonly unsigned?: Quotient;
  /** True for a letter from A to J alone in brackets or in \text, as a choice is written. */
  readonly choice?: boolean;
}

export interface Relation {
  readonly operator: Operator;
  /** Left side less right side. */
  readonly difference: Quotient;
}

export type Value =
  | Quantity
  /** Tuples, intervals, coordinates, ratios: the order and the brackets count. */
  | { readonly kind: 'sequence'; readonly open: string; readonly close: string; readonly items: readonly Value[] }
  /** `set`: {1, 2}; `list`: bare 1, 2 or "1 or 2", all solutions in any order; `union`: of intervals and sets. */
  | { readonly kind: 'set' | 'list' | 'union'; readonly items: readonly Value[] }
  | { readonly kind: 'matrix'; readonly rows: readonly (readonly Value[])[] }
  /**
   * `x = 5`, `x \in [1, 2)`, `f(x) = 2x`: the label says what has the value; the relation is kept where both sides are
   * expressions.
   */
  | { readonly kind: 'labelled'; readonly label: string; readonly value: Value; readonly relation: Relation | null }
  | { readonly kind: 'relation'; readonly relation: Relation }
  | { readonly kind: 'text'; readonly text: string };

const OPENING = /^(?:[([{]|\\\{)$/u;
const CLOSING = /^(?:[)\]}]|\\\})$/u;
const RELATION = /^(?:=|!=|<=|>=|<|>|in)$/u;
/** As many choices as tests with several answers offer. */
const CHOICE = /^[A-Ja-j]$/u;

/** The value that an answer states. @throws Unreadable where it is compared as text, LimitReached */
export function readValue(answer: string, algebra: Algebra): Value {
  return list(tokensOf(answer, algebra.budget), algebra);
}

/** Bare commas and the words for "or" and "and" make a list. */
function list(tokens: readonly Token[], algebra: Algebra): Value {
  if (tokens.length === 0) {
    throw new Unreadable();
  }
  const parts = split(
    tokens,
    ({ kind, text }) =>
      (kind === 'symbol' && /^[,;]$/u.test(text)) ||
      (kind === 'word' && /^(?:or|and|或|或者|和|及|以及)$/iu.test(text)),
  );
  // "1, 2, and 3" has an empty part between the comma and the word.
  const items = members(
    parts.filter((part) => part.length > 0),
    algebra,
  );
  const [only, second] = items;
  if (only === undefined) {
    throw new Unreadable();
  }
  if (second === undefined) {
    return only;
  }
  const labels = items.map((value) => (value.kind === 'labelled' ? value.label : null));
  const [label] = labels;
  if (
    label === undefined ||
    label === null ||
    labels.some((other, at) => at > 0 && other !== null && other !== label)
  ) {
    return { kind: 'list', items };
  }
  const bare = items.map((value) => (value.kind === 'labelled' ? value.value : value));
  const intervals = bare.every(({ kind }) => kind === 'sequence') && labels.every((other) => other !== null);
  return { kind: 'labelled', label, value: { kind: intervals ? 'union' : 'list', items: bare }, relation: null };
}

/** The members of a list or set; a plus-minus sign makes two of one. */
function members(parts: readonly (readonly Token[])[], algebra: Algebra): readonly Value[] {
  return parts
    .map((part) => item(part, algebra))
    .flatMap((value) => (value.kind === 'list' && parts.length > 1 ? value.items : [value]));
}

/** One member of a list: an equation, an inequality, a labelled value or a value. */
function item(tokens: readonly Token[], algebra: Algebra): Value {
  const colon = split(tokens, ({ kind, text }) => kind === 'symbol' && text === ':');
  if (colon.length > 1) {
    return behindColon(colon, algebra);
  }
  const operators: string[] = [];
  const sides = split(tokens, ({ kind, text }) => kind === 'symbol' && RELATION.test(text), operators);
  const [operator] = operators;
  const [left] = sides;
  if (operator === undefined) {
    return union(tokens, algebra);
  }
  if (left === undefined || sides.some((side) => side.length === 0)) {
    throw new Unreadable();
  }
  if (operators.every((other) => other === '=')) {
    return equation(sides, algebra);
  }
  if (operator === 'in' && sides.length === 2) {
    const label = labelOf(left);
    if (label === null) {
      throw new Unreadable();
    }
    return { kind: 'labelled', label, value: union(sides[1] ?? [], algebra), relation: null };
  }
  return inequality(sides, operators, algebra);
}

/** `a : b` is a ratio of numbers; words before a colon say what the value is of. */
function behindColon(parts: readonly (readonly Token[])[], algebra: Algebra): Value {
  const [first, second, third] = parts;
  if (first === undefined || second === undefined) {
    throw new Unreadable();
  }
  if (third === undefined && first.length > 0 && first.every(({ kind }) => kind === 'word')) {
    return item(second, algebra);
  }
  return { kind: 'sequence', open: ':', close: ':', items: parts.map((part) => quantity(part, algebra)) };
}

/**
 * x = 5 is the value 5 under its label; any other equation is its difference; of a = b = c all but the label must
 * agree.
 */
function equation(sides: readonly (readonly Token[])[], algebra: Algebra): Value {
  const [left, ...rest] = sides;
  const label = labelOf(left ?? []);
  const last = rest.at(-1) ?? [];
  if (label === null) {
    if (rest.length !== 1) {
      throw new Unreadable();
    }
    // 5 = x says the same as x = 5.
    const turned = labelOf(last);
    const relation: Relation = {
      operator: '=',
      difference: algebra.minus(expressionOf(left ?? [], algebra), expressionOf(last, algebra)),
    };
    return turned === null
      ? { kind: 'relation', relation }
      : { kind: 'labelled', label: turned, value: union(left ?? [], algebra), relation };
  }
  const value = union(last, algebra);
  for (const side of rest.slice(0, -1)) {
    const other = union(side, algebra);
    if (other.kind !== 'quantity' || value.kind !== 'quantity' || !algebra.equal(other.value, value.value)) {
      throw new Unreadable();
    }
  }
  if (value.kind !== 'quantity' || value.unit !== null || label === '' || !/^[\p{L}\w']+$/u.test(label)) {
    return { kind: 'labelled', label, value, relation: null };
  }
  return {
    kind: 'labelled',
    label,
    value,
    relation: { operator: '=', difference: algebra.minus(algebra.atom(label), value.value) },
  };
}

/** a < x <= b and x > a are intervals of x; others are relations. */
function inequality(sides: readonly (readonly Token[])[], operators: readonly string[], algebra: Algebra): Value {
  const rising = operators.every((operator) => operator === '<' || operator === '<=');
  const falling = operators.every((operator) => operator === '>' || operator === '>=');
  if (sides.length > 3 || (!rising && !falling && operators.join() !== '!=')) {
    throw new Unreadable();
  }
  const ordered = falling ? [...sides].reverse() : sides;
  const signs = (falling ? [...operators].reverse() : operators).map((operator): Operator =>
    operator === '!=' ? '!=' : operator.endsWith('=') ? '<=' : '<',
  );
  const [first, second, third] = ordered;
  const [sign, nextSign] = signs;
  if (first === undefined || second === undefined || sign === undefined) {
    throw new Unreadable();
  }
  if (third !== undefined) {
    const label = variableOf(second);
    if (label === null || nextSign === undefined) {
      throw new Unreadable();
    }
    const value = interval(
      sign === '<' ? '(' : '[',
      quantity(first, algebra),
      quantity(third, algebra),
      nextSign === '<' ? ')' : ']',
    );
    return { kind: 'labelled', label, value, relation: null };
  }
  const relation: Relation = {
    operator: sign,
    difference: algebra.minus(expressionOf(first, algebra), expressionOf(second, algebra)),
  };
  const endless = algebra.atom('infty');
  const end: Quantity = { kind: 'quantity', value: endless, unit: null, percent: false, written: 'other' };
  const above = variableOf(first);
  const below = variableOf(second);
  if (sign === '!=' || (above === null) === (below === null)) {
    return { kind: 'relation', relation };
  }
  if (above !== null) {
    return {
      kind: 'labelled',
      label: above,
      value: interval(
        '(',
        { ...end, value: algebra.negated(endless) },
        quantity(second, algebra),
        sign === '<' ? ')' : ']',
      ),
      relation,
    };
  }
  return {
    kind: 'labelled',
    label: below ?? '',
    value: interval(sign === '<' ? '(' : '[', quantity(first, algebra), end, ')'),
    relation,
  };
}

function interval(open: string, low: Value, high: Value, close: string): Value {
  return { kind: 'sequence', open, close, items: [low, high] };
}

function union(tokens: readonly Token[], algebra: Algebra): Value {
  const parts = split(tokens, ({ kind, text }) => kind === 'symbol' && text === 'cup');
  const [only, second] = parts;
  if (only === undefined || second === undefined) {
    return member(tokens, algebra);
  }
  return { kind: 'union', items: parts.map((part) => member(part, algebra)) };
}

/** Anything without bare commas: brackets, matrices, words, quantities. */
function member(tokens: readonly Token[], algebra: Algebra): Value {
  algebra.budget.spend(1);
  const first = tokens[0];
  const last = tokens.at(-1);
  if (first === undefined || last === undefined) {
    throw new Unreadable();
  }
  if (first.kind === 'matrix') {
    return matrix(tokens, algebra);
  }
  if (tokens.length === 1 && first.kind === 'symbol' && first.text === 'emptyset') {
    return { kind: 'set', items: [] };
  }
  if (tokens.length === 1 && first.text === 'bbR') {
    return interval('(', infinite(algebra, -1), infinite(algebra, 1), ')');
  }
  if (tokens.length > 1 && OPENING.test(first.text) && CLOSING.test(last.text) && closes(tokens)) {
    const bracketed = inBrackets(first.text, tokens.slice(1, -1), last.text, algebra);
    if (bracketed !== null) {
      return bracketed;
    }
  }
  if (tokens.every(({ kind }) => kind === 'word' || kind === 'name') && !tokens.every(isSymbolic)) {
    const number = chineseQuantity(tokens, algebra);
    return number ?? { kind: 'text', text: tokens.map(({ text }) => text.toLowerCase()).join(' ') };
  }
  return first.prose && tokens.length === 1 ? letter(tokens, algebra) : quantity(tokens, algebra);
}

/** A name that is set apart as a choice is: in brackets or in \text. */
function letter(tokens: readonly Token[], algebra: Algebra): Value {
  const value = quantity(tokens, algebra);
  return value.kind === 'quantity' && CHOICE.test(tokens[0]?.text ?? '') ? { ...value, choice: true } : value;
}

function inBrackets(open: string, inside: readonly Token[], close: string, algebra: Algebra): Value | null {
  const separators = split(inside, ({ kind, text }) => kind === 'symbol' && /^[,;]$/u.test(text));
  const several = separators.length > 1;
  if (open === '\\{' || (open === '{' && several)) {
    if (close !== '\\}' && close !== '}') {
      throw new Unreadable();
    }
    return { kind: 'set', items: inside.length === 0 ? [] : members(separators, algebra) };
  }
  if (!several && (open === '(' || open === '{')) {
    const [only] = inside;
    // (A) is the choice A; (2 + 3) is an expression, as are brackets around anything that is no word.
    return inside.length === 1 && only?.kind === 'name' ? letter(inside, algebra) : null;
  }
  if (!/^[([]$/u.test(open) || !/^[)\]]$/u.test(close)) {
    throw new Unreadable();
  }
  const items = separators.map((part) => item(part, algebra));
  const rows = items.map((value) =>
    value.kind === 'sequence' && value.open === '[' && value.close === ']' ? value.items : null,
  );
  const full = rows.filter((row) => row !== null);
  if (
    open === '[' &&
    close === ']' &&
    full.length === items.length &&
    full.every(({ length }) => length === full[0]?.length)
  ) {
    return { kind: 'matrix', rows: full };
  }
  return { kind: 'sequence', open, close, items };
}

function matrix(tokens: readonly Token[], algebra: Algebra): Value {
  const [first, last] = [tokens[0]?.text, tokens.at(-1)?.text];
  const inside = tokens.slice(1, -1);
  if (first !== 'begin matrix' || last !== 'end matrix' || inside.some(({ kind }) => kind === 'matrix')) {
    throw new Unreadable();
  }
  const rows = split(inside, ({ kind, text }) => kind === 'symbol' && text === ';;').filter((row) => row.length > 0);
  const cells = rows.map((row) =>
    split(row, ({ kind, text }) => kind === 'symbol' && text === '&').map((cell) => quantity(cell, algebra)),
  );
  if (cells.length === 0 || cells.some(({ length }) => length !== cells[0]?.length)) {
    throw new Unreadable();
  }
  return { kind: 'matrix', rows: cells };
}

/** A number or expression with its unit, or two of them where a plus-minus sign stands. */
function quantity(tokens: readonly Token[], algebra: Algebra): Value {
  const numeric = numericQuantity(tokens, algebra);
  if (numeric !== null) {
    return numeric;
  }
  const chinese = chineseQuantity(tokens, algebra);
  if (chinese !== null) {
    return chinese;
  }
  return forked(tokens, tokens, null, algebra);
}

/** Money in front or a unit behind; null when there is neither. */
function numericQuantity(tokens: readonly Token[], algebra: Algebra): Value | null {
  const signs = tokens[0]?.text === '-' || tokens[0]?.text === '+' ? 1 : 0;
  const money = moneyOf(tokens[signs]?.text ?? '') ?? null;
  const lastMoney = moneyOf(tokens.at(-1)?.text ?? '');
  const bare =
    money !== null
      ? [...tokens.slice(0, signs), ...tokens.slice(signs + 1)]
      : lastMoney !== null
        ? tokens.slice(0, -1)
        : tokens;
  let depth = 0;
  for (const [at, token] of bare.entries()) {
    depth += turn(token);
    if (at === 0 || (token.kind !== 'word' && token.kind !== 'name') || depth !== 0) {
      continue;
    }
    algebra.budget.spend(1);
    const number = bare.slice(0, at);
    const numeric = number.every(
      ({ kind, text }) => kind === 'number' || (kind === 'symbol' && text !== '_') || text === 'pi',
    );
    const unit = unitOf(bare.slice(at), numeric);
    if (unit === null) {
      continue;
    }
    const name = money ?? lastMoney ?? unit.name;
    if (money !== null && unit.name !== null && unit.name !== money) {
      throw new Unreadable();
    }
    const read = forked(number, number, name, algebra);
    if (unit.multiple === 1n) {
      return read;
    }
    if (read.kind !== 'quantity') {
      throw new Unreadable();
    }
    return {
      ...read,
      value: algebra.times(read.value, algebra.number(whole(unit.multiple))),
      written: read.written === 'fraction' ? 'other' : 'whole',
    };
  }
  return money === null && lastMoney === null ? null : forked(bare, bare, money ?? lastMoney, algebra);
}

/** A number in Chinese words, with what it counts. */
function chineseQuantity(tokens: readonly Token[], algebra: Algebra): Value | null {
  const [first, ...rest] = tokens;
  if (first?.kind !== 'word' || !/^\p{Script=Han}/u.test(first.text)) {
    return null;
  }
  const parts = chineseSplit(first.text, (text) => chineseNumber(text) !== null);
  const digits = chineseNumber(parts?.[0] ?? '');
  if (parts === null || digits === null) {
    return null;
  }
  const unit = parts[1] === '' ? rest : [{ ...first, text: parts[1] }, ...rest];
  return quantity([...tokensOf(digits, algebra.budget), ...unit], algebra);
}

function forked(tokens: readonly Token[], written: readonly Token[], unit: string | null, algebra: Algebra): Value {
  const { value, forked: twice, percent } = readExpression(tokens, algebra);
  const one: Quantity = { kind: 'quantity', value, unit, percent, written: writtenAs(written) };
  const covered = percent && !twice && !isSum(tokens);
  if (covered) {
    return { ...one, unsigned: readExpression(tokens.slice(0, -1), algebra).value };
  }
  if (!twice) {
    return one;
  }
  return { kind: 'list', items: [one, { ...one, value: readExpression(tokens, algebra, false).value }] };
}

/** Whether a plus or minus sign joins terms outside of all brackets. */
function isSum(tokens: readonly Token[]): boolean {
  let depth = 0;
  return tokens.some((token, at) => {
    depth += turn(token);
    return at > 0 && depth === 0 && token.kind === 'symbol' && /^(?:[-+]|\+-|-\+)$/u.test(token.text);
  });
}

function writtenAs(tokens: readonly Token[]): Written {
  const bare = tokens.filter(({ text }) => !/^[-+%]$/u.test(text));
  const [first, second] = bare;
  if (bare.length === 1 && first?.kind === 'number') {
    return /^\d+$/u.test(first.text) || first.value?.denominator === 1n ? 'whole' : 'decimal';
  }
  return first?.text === 'frac' || (first?.kind === 'number' && second?.text === '/' && bare.length === 3)
    ? 'fraction'
    : 'other';
}

function expressionOf(tokens: readonly Token[], algebra: Algebra): Quotient {
  const { value, forked: twice } = readExpression(tokens, algebra);
  if (twice) {
    throw new Unreadable();
  }
  return value;
}

function infinite(algebra: Algebra, sign: 1 | -1): Quantity {
  const endless = algebra.atom('infty');
  return {
    kind: 'quantity',
    value: sign === 1 ? endless : algebra.negated(endless),
    unit: null,
    percent: false,
    written: 'other',
  };
}

/**
 * What the left side of an equation names: a variable, f(x), (x, y), or plain words (empty: they say nothing to
 * compare). Null for an expression.
 */
function labelOf(tokens: readonly Token[]): string | null {
  const variable = variableOf(tokens);
  if (variable !== null) {
    return variable;
  }
  if (tokens.length > 0 && tokens.every(({ kind, prose }) => kind === 'word' || prose)) {
    return '';
  }
  const text = tokens.map((token) => token.text).join(' ');
  return /^(?:[A-Za-z]\w*'* )?\( [A-Za-z]\w*(?: , [A-Za-z]\w*){0,7} \)$/u.test(text) ? text : null;
}

function variableOf(tokens: readonly Token[]): string | null {
  const [only, second] = tokens;
  return only?.kind === 'name' && second === undefined && !/^(?:pi|e|infty|bb.)$/u.test(only.text) ? only.text : null;
}

/** A letter alone, in or out of \text, is a variable or the name of a choice; so is a short product of them outside. */
function isSymbolic(token: Token, _at: number, all: readonly Token[]): boolean {
  return (
    token.kind === 'name' ||
    (!token.prose && all.length > 1 && token.text.length <= 2) ||
    (!token.prose &&
      /^[a-z]{2}$/u.test(token.text) &&
      !/^(?:no|on|am|pm|is|it|ok|up|us|we|he|so|to|in)$/u.test(token.text))
  );
}

/**
 * Parts between the separators that stand in no brackets; `found` gets the separators.
 * @throws Unreadable for brackets that do not match
 */
function split(
  tokens: readonly Token[],
  separates: (token: Token) => boolean,
  found: string[] = [],
): readonly (readonly Token[])[] {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    depth += turn(token);
    if (depth < 0) {
      throw new Unreadable();
    }
    if (depth === 0 && separates(token)) {
      parts.push([]);
      found.push(token.text);
    } else {
      parts.at(-1)?.push(token);
    }
  }
  if (depth !== 0) {
    throw new Unreadable();
  }
  return parts;
}

/** Brackets of any form nest alike, since [1, 2) is an interval. */
function turn({ kind, text }: Token): number {
  if (kind === 'matrix') {
    return text.startsWith('begin') ? 1 : -1;
  }
  if (kind !== 'symbol') {
    return 0;
  }
  return OPENING.test(text) ? 1 : CLOSING.test(text) ? -1 : 0;
}

/** True when the first bracket closes at the last token. */
function closes(tokens: readonly Token[]): boolean {
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    depth += turn(token);
    if (depth === 0) {
      return at === tokens.length - 1;
    }
  }
  return false;
}
