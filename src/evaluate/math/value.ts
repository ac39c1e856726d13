/**
 * Reads an answer: a number or expression with its unit, or a tuple, interval, set, list, union,
 * matrix, equation or text.
 */

import { isOneBracketPair, CLOSING, OPENING, splitOutsideBrackets } from './brackets.ts';
import { Unreadable } from './exact/budget.ts';
import type { Algebra } from './exact/polynomial.ts';
import { approximateValue } from './exact/powers.ts';
import { tokenizeAnswer, type Token } from './lex.ts';
import { readChineseQuantity, readSingleExpression, makeInfinity, readChoiceLetter, readQuantity } from './quantity.ts';
import type { Operator, Quantity, Relation, Value } from './valueForms.ts';

const RELATION = /^(?:=|!=|<=|>=|<|>|in)$/u;

/**
 * Returns the value that an answer states.
 * @throws Unreadable if it must be compared as text, LimitReached
 */
export function readValue(answer: string, algebra: Algebra): Value {
  const tokens = tokenizeAnswer(answer, algebra.budget);
  const [open, letter, close, next] = tokens;
  const isChoice =
    open?.text === '(' && close?.text === ')' && /^[A-J]$/u.test(letter?.text ?? '') && next !== undefined;
  // With \text it is always a choice. Without it, (B) + 1 is a sum and (B)(C) a product.
  return isChoice &&
    letter !== undefined &&
    (letter.prose || (next.space && (next.kind === 'number' || /^(?:frac|sqrt)$/u.test(next.text))))
    ? { kind: 'choice', letter: algebra.atom(letter.text), value: readList(tokens.slice(3), algebra) }
    : readList(tokens, algebra);
}

/** Reads a list, separated by bare commas or by words for "or" and "and". */
function readList(tokens: readonly Token[], algebra: Algebra): Value {
  if (tokens.length === 0) {
    throw new Unreadable();
  }
  const parts = splitOutsideBrackets(
    tokens,
    ({ kind, text }) =>
      (kind === 'symbol' && /^[,;]$/u.test(text)) ||
      (kind === 'word' && /^(?:or|and|或|或者|和|及|以及)$/iu.test(text)),
  );
  // "1, 2, and 3" has an empty part between the comma and the word.
  const items = readMembers(
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

/** Reads the members of a list or set; a plus-minus sign makes two of one. */
function readMembers(parts: readonly (readonly Token[])[], algebra: Algebra): readonly Value[] {
  return parts
    .map((part) => readItem(part, algebra))
    .flatMap((value) => (value.kind === 'list' && parts.length > 1 ? value.items : [value]));
}

/** Reads one member of a list: an equation, an inequality, a labelled value or a value. */
function readItem(tokens: readonly Token[], algebra: Algebra): Value {
  const colon = splitOutsideBrackets(tokens, ({ kind, text }) => kind === 'symbol' && text === ':');
  if (colon.length > 1) {
    return readColon(colon, algebra);
  }
  const [exact, ...rounded] = splitOutsideBrackets(tokens, ({ kind, text }) => kind === 'symbol' && text === 'approx');
  if (exact !== undefined && rounded.length > 0) {
    return readRoundedValue(exact, rounded, algebra);
  }
  const operators: string[] = [];
  const sides = splitOutsideBrackets(tokens, ({ kind, text }) => kind === 'symbol' && RELATION.test(text), operators);
  const [operator] = operators;
  const [left] = sides;
  if (operator === undefined) {
    return readUnion(tokens, algebra);
  }
  if (left === undefined || sides.some((side) => side.length === 0)) {
    throw new Unreadable();
  }
  if (operators.every((other) => other === '=')) {
    return readEquation(sides, algebra);
  }
  if (operator === 'in' && sides.length === 2) {
    const label = readLabel(left);
    if (label === null) {
      throw new Unreadable();
    }
    return { kind: 'labelled', label, value: readUnion(sides[1] ?? [], algebra), relation: null };
  }
  return readInequality(sides, operators, algebra);
}

/**
 * Reads a value before a sign of approximation with its rounded form after it. If the part before has
 * no value, such as `x`, the value is the part after it.
 * @throws Unreadable if the value does not round to the part after it
 */
function readRoundedValue(exact: readonly Token[], rounded: readonly (readonly Token[])[], algebra: Algebra): Value {
  const [first = []] = rounded;
  if (exact.length === 0 || readLabel(exact) !== null) {
    if (rounded.length > 1) {
      throw new Unreadable();
    }
    return exact.length === 0 ? readItem(first, algebra) : readEquation([exact, first], algebra);
  }
  const value = readItem(exact, algebra);
  const [size, ...sizes] = [value, ...rounded.map((part) => readItem(part, algebra))].map((each) =>
    approximateSize(each, algebra),
  );
  for (const [at, other] of sizes.entries()) {
    const digits = rounded[at]?.find(({ kind }) => kind === 'number')?.text.split('.')[1]?.length ?? 0;
    if (size !== undefined && size !== null && other !== null && Math.abs(size - other) > 10 ** -digits) {
      throw new Unreadable();
    }
  }
  return { kind: 'rounded', exact: value, rounded: readItem(rounded.at(-1) ?? [], algebra) };
}

/** Returns the size of a number, even with a label; null for anything else. */
function approximateSize(value: Value, algebra: Algebra): number | null {
  const bare = value.kind === 'labelled' ? value.value : value;
  return bare.kind === 'quantity' ? approximateValue(algebra, bare.value) : null;
}

/** Reads `a : b` as a ratio of numbers. Words before a colon name the value and are dropped. */
function readColon(parts: readonly (readonly Token[])[], algebra: Algebra): Value {
  const [first, second, third] = parts;
  if (first === undefined || second === undefined) {
    throw new Unreadable();
  }
  if (third === undefined && first.length > 0 && first.every(({ kind }) => kind === 'word')) {
    return readItem(second, algebra);
  }
  return { kind: 'sequence', open: ':', close: ':', items: parts.map((part) => readQuantity(part, algebra)) };
}

/**
 * Reads an equation. x = 5 is the value 5 with its label; any other equation is its difference. In a =
 * b = c all sides except the label must be equal.
 */
function readEquation(sides: readonly (readonly Token[])[], algebra: Algebra): Value {
  const [left, ...rest] = sides;
  const label = readLabel(left ?? []);
  const last = rest.at(-1) ?? [];
  if (label === null) {
    if (rest.length !== 1) {
      throw new Unreadable();
    }
    // 5 = x means the same as x = 5.
    const turned = readLabel(last);
    const relation: Relation = {
      operator: '=',
      difference: algebra.minus(readSingleExpression(left ?? [], algebra), readSingleExpression(last, algebra)),
    };
    return turned === null
      ? { kind: 'relation', relation }
      : { kind: 'labelled', label: turned, value: readUnion(left ?? [], algebra), relation };
  }
  const value = readUnion(last, algebra);
  for (const side of rest.slice(0, -1)) {
    const other = readUnion(side, algebra);
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

/** Reads an inequality. a < x <= b and x > a are intervals of x; others are relations. */
function readInequality(sides: readonly (readonly Token[])[], operators: readonly string[], algebra: Algebra): Value {
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
    const label = readVariable(second);
    if (label === null || nextSign === undefined) {
      throw new Unreadable();
    }
    const value = makeInterval(
      sign === '<' ? '(' : '[',
      readQuantity(first, algebra),
      readQuantity(third, algebra),
      nextSign === '<' ? ')' : ']',
    );
    return { kind: 'labelled', label, value, relation: null };
  }
  const relation: Relation = {
    operator: sign,
    difference: algebra.minus(readSingleExpression(first, algebra), readSingleExpression(second, algebra)),
  };
  const endless = algebra.atom('infty');
  const end: Quantity = { kind: 'quantity', value: endless, unit: null, percent: false, written: 'other' };
  const above = readVariable(first);
  const below = readVariable(second);
  if (sign === '!=' || (above === null) === (below === null)) {
    return { kind: 'relation', relation };
  }
  if (above !== null) {
    return {
      kind: 'labelled',
      label: above,
      value: makeInterval(
        '(',
        { ...end, value: algebra.negated(endless) },
        readQuantity(second, algebra),
        sign === '<' ? ')' : ']',
      ),
      relation,
    };
  }
  return {
    kind: 'labelled',
    label: below ?? '',
    value: makeInterval(sign === '<' ? '(' : '[', readQuantity(first, algebra), end, ')'),
    relation,
  };
}

function makeInterval(open: string, low: Value, high: Value, close: string): Value {
  return { kind: 'sequence', open, close, items: [low, high] };
}

function readUnion(tokens: readonly Token[], algebra: Algebra): Value {
  const parts = splitOutsideBrackets(tokens, ({ kind, text }) => kind === 'symbol' && text === 'cup');
  const [only, second] = parts;
  if (only === undefined || second === undefined) {
    return readMember(tokens, algebra);
  }
  return { kind: 'union', items: parts.map((part) => readMember(part, algebra)) };
}

/** Reads anything without bare commas: brackets, matrices, words, quantities. */
function readMember(tokens: readonly Token[], algebra: Algebra): Value {
  algebra.budget.spend(1);
  const first = tokens[0];
  const last = tokens.at(-1);
  if (first === undefined || last === undefined) {
    throw new Unreadable();
  }
  if (first.kind === 'matrix') {
    return readMatrix(tokens, algebra);
  }
  if (tokens.length === 1 && first.kind === 'symbol' && first.text === 'emptyset') {
    return { kind: 'set', items: [] };
  }
  if (tokens.length === 1 && first.text === 'bbR') {
    return makeInterval('(', makeInfinity(algebra, -1), makeInfinity(algebra, 1), ')');
  }
  if (tokens.length > 1 && OPENING.test(first.text) && CLOSING.test(last.text) && isOneBracketPair(tokens)) {
    const bracketed = readBracketed(first.text, tokens.slice(1, -1), last.text, algebra);
    if (bracketed !== null) {
      return bracketed;
    }
  }
  if (tokens.every(({ kind }) => kind === 'word' || kind === 'name') && !tokens.every(isSymbolic)) {
    const number = readChineseQuantity(tokens, algebra);
    return number ?? { kind: 'text', text: tokens.map(({ text }) => text.toLowerCase()).join(' ') };
  }
  return first.prose && tokens.length === 1 ? readChoiceLetter(tokens, algebra) : readQuantity(tokens, algebra);
}

function readBracketed(open: string, inside: readonly Token[], close: string, algebra: Algebra): Value | null {
  const separators = splitOutsideBrackets(inside, ({ kind, text }) => kind === 'symbol' && /^[,;]$/u.test(text));
  const several = separators.length > 1;
  if (open === '\\{' || (open === '{' && several)) {
    if (close !== '\\}' && close !== '}') {
      throw new Unreadable();
    }
    return { kind: 'set', items: inside.length === 0 ? [] : readMembers(separators, algebra) };
  }
  if (!several && (open === '(' || open === '{')) {
    const [only] = inside;
    // (A) is the choice A; (2 + 3) is an expression, like any brackets around something other than a word.
    return inside.length === 1 && only?.kind === 'name' ? readChoiceLetter(inside, algebra) : null;
  }
  if (!/^[([]$/u.test(open) || !/^[)\]]$/u.test(close)) {
    throw new Unreadable();
  }
  const items = separators.map((part) => readItem(part, algebra));
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

function readMatrix(tokens: readonly Token[], algebra: Algebra): Value {
  const [first, last] = [tokens[0]?.text, tokens.at(-1)?.text];
  const inside = tokens.slice(1, -1);
  if (first !== 'begin matrix' || last !== 'end matrix' || inside.some(({ kind }) => kind === 'matrix')) {
    throw new Unreadable();
  }
  const rows = splitOutsideBrackets(inside, ({ kind, text }) => kind === 'symbol' && text === ';;').filter(
    (row) => row.length > 0,
  );
  const cells = rows.map((row) =>
    splitOutsideBrackets(row, ({ kind, text }) => kind === 'symbol' && text === '&').map((cell) =>
      readQuantity(cell, algebra),
    ),
  );
  if (cells.length === 0 || cells.some(({ length }) => length !== cells[0]?.length)) {
    throw new Unreadable();
  }
  return { kind: 'matrix', rows: cells };
}

/**
 * Returns the name on the left side of an equation: a variable, f(x), (x, y), or an empty text for
 * plain words, which are not compared. Null for an expression.
 */
function readLabel(tokens: readonly Token[]): string | null {
  const variable = readVariable(tokens);
  if (variable !== null) {
    return variable;
  }
  if (tokens.length > 0 && tokens.every(({ kind, prose }) => kind === 'word' || prose)) {
    return '';
  }
  const text = tokens.map((token) => token.text).join(' ');
  return /^(?:[A-Za-z]\w*'* )?\( [A-Za-z]\w*(?: , [A-Za-z]\w*){0,7} \)$/u.test(text) ? text : null;
}

function readVariable(tokens: readonly Token[]): string | null {
  const [only, second] = tokens;
  return only?.kind === 'name' && second === undefined && !/^(?:pi|e|infty|bb.)$/u.test(only.text) ? only.text : null;
}

/**
 * Returns true for tokens that can be mathematics: a single letter, in or out of \text, and outside of
 * \text also a short product of letters.
 */
function isSymbolic(token: Token, _at: number, all: readonly Token[]): boolean {
  return (
    token.kind === 'name' ||
    (!token.prose && all.length > 1 && token.text.length <= 2) ||
    (!token.prose &&
      /^[a-z]{2}$/u.test(token.text) &&
      !/^(?:no|on|am|pm|is|it|ok|up|us|we|he|so|to|in)$/u.test(token.text))
  );
}
