/**
 * The vocabulary of the Python task: the values of a helper line and their uses, each in words and as
 * an expression.
 */

import type { HashedStream } from '../hashedStream.ts';
import { binary, call, callOr, literal, name, slice, type Expression } from './pythonExpression.ts';

export type ValueType = 'number' | 'list' | 'text';

/**
 * A phrase and its meaning. Helpers are noun phrases (`the sum of xs`), uses are requests about `it`
 * (`add 3 to it`).
 */
export interface Piece {
  readonly words: readonly string[];
  readonly expression: Expression;
}

export interface Helper extends Piece {
  /** The type of the helper's value. */
  readonly type: ValueType;
}

/** The name of the helper line's value. */
export const HELPER = 'h';

export const FUNCTION_NAMES: readonly string[] = [
  'gap',
  'mix',
  'calc',
  'form',
  'step',
  'rate',
  'fold',
  'pick',
  'shift',
  'score',
  'level',
  'blend',
  'merge',
  'trim',
  'mark',
  'scale',
  'build',
  'turn',
  'solve',
  'find',
  'make',
  'work',
  'play',
  'cast',
  'draw',
  'grow',
  'join',
  'keep',
  'link',
  'move',
  'note',
  'pack',
  'rank',
  'save',
  'send',
  'sift',
  'take',
  'tune',
  'value',
  'weigh',
  'get',
  'put',
  'run',
  'use',
  'adapt',
  'apply',
  'change',
  'derive',
];

const PAIRS: readonly (readonly string[])[] = [
  ['a', 'b'],
  ['x', 'y'],
  ['m', 'n'],
  ['p', 'q'],
  ['b', 'a'],
  ['u', 'v'],
];
const TRIPLES: readonly (readonly string[])[] = [
  ['a', 'b', 'c'],
  ['x', 'y', 'z'],
  ['p', 'q', 'r'],
  ['k', 'm', 'n'],
];
const LISTS: readonly string[] = ['xs', 'items', 'nums', 'values', 'data'];
const TEXTS: readonly string[] = ['s', 'word', 'text', 'name'];
const COUNTS: readonly string[] = ['n', 'k', 'count', 'size'];
const MARKS: readonly string[] = ['!', '?', '-', '.', '*'];

/** The frames of questions: {f} is the signature, {h} the helper's phrase, {u} the use. */
export const FRAMES: readonly string[] = [
  'Write {f}. Take {h}, then {u}.',
  'Define {f}: find {h}, {u} and return that.',
  'Write a function {f}. First find {h}. Then {u} and return the result.',
  '{f} finds {h}. After that, {u}.',
];

export interface Argument {
  readonly name: string;
  readonly type: ValueType | 'count';
}

export interface LevelRule {
  readonly level: number;
  /** True for the easier half of the task. */
  readonly short: boolean;
  readonly draw: (stream: HashedStream) => {
    readonly arguments: readonly Argument[];
    readonly helper: Helper;
    readonly use: Piece;
  };
}

const ZERO = literal(0);
const HELD = name(HELPER);

const numberHelper = (expression: Expression, ...words: string[]): Helper => ({ words, expression, type: 'number' });
const helperLike = (type: 'list' | 'text', expression: Expression, ...words: string[]): Helper => ({
  words,
  expression,
  type,
});
const piece = (expression: Expression, ...words: string[]): Piece => ({ words, expression });

/** Helpers of two whole numbers. */
function pairHelpers(a: string, b: string): Helper[] {
  const [left, right] = [name(a), name(b)];
  return [
    numberHelper(call('max', left, right), `the larger of ${a} and ${b}`, `the bigger of ${a} and ${b}`),
    numberHelper(call('min', left, right), `the smaller of ${a} and ${b}`, `the lesser of ${a} and ${b}`),
    numberHelper(
      call('abs', binary(left, '-', right)),
      `the distance between ${a} and ${b}`,
      `how far ${a} is from ${b}`,
    ),
    numberHelper(binary(left, '+', right), `the sum of ${a} and ${b}`, `${a} plus ${b}`),
    numberHelper(binary(left, '*', right), `the product of ${a} and ${b}`, `${a} times ${b}`),
    numberHelper(binary(left, '-', right), `${a} minus ${b}`, `${a} less ${b}`),
  ];
}

/** Helpers of three whole numbers and a constant. */
function tripleHelpers(a: string, b: string, c: string, k: number): Helper[] {
  const [first, second, third] = [name(a), name(b), name(c)];
  return [
    numberHelper(
      binary(call('max', first, second, third), '-', call('min', first, second, third)),
      `the spread of ${a}, ${b} and ${c}`,
      `the largest minus the smallest of ${a}, ${b} and ${c}`,
    ),
    numberHelper(binary(call('max', first, second), '-', third), `the larger of ${a} and ${b}, minus ${c}`),
    numberHelper(
      binary(binary(first, '+', second), '//', literal(k)),
      `the sum of ${a} and ${b} divided by ${k}, rounded down`,
    ),
    numberHelper(binary(binary(first, '*', literal(k)), '+', second), `${k} times ${a}, plus ${b}`),
    numberHelper(binary(binary(first, '+', third), '%', literal(k)), `the remainder of ${a} plus ${c} divided by ${k}`),
  ];
}

function guards(k: number): Piece[] {
  return [
    piece(call('min', HELD, literal(k)), `cap it at ${k}`, `make it at most ${k}`),
    piece(call('max', HELD, literal(k)), `raise it to ${k} if it is less`, `make it at least ${k}`),
    piece(call('max', call('min', HELD, literal(k)), ZERO), `keep it between 0 and ${k}`),
    piece(call('abs', HELD), 'drop its sign', 'make it positive'),
  ];
}

function sums(k: number): Piece[] {
  return [
    piece(binary(HELD, '+', literal(k)), `add ${k} to it`, `increase it by ${k}`),
    piece(binary(HELD, '-', literal(k)), `subtract ${k} from it`, `lower it by ${k}`),
    piece(binary(HELD, '*', literal(k)), `multiply it by ${k}`),
    piece(binary(literal(k), '-', HELD), `subtract it from ${k}`),
  ];
}

/** Helpers of a whole list. */
function listHelpers(xs: string): Helper[] {
  const list = name(xs);
  const [greatest, least] = [callOr('max', list, 0), callOr('min', list, 0)];
  return [
    numberHelper(call('sum', list), `the sum of ${xs}`, `the total of ${xs}`),
    numberHelper(greatest, `the largest of ${xs} (0 if it is empty)`, `the maximum of ${xs}, or 0 if it is empty`),
    numberHelper(least, `the smallest of ${xs} (0 if it is empty)`, `the minimum of ${xs}, or 0 if it is empty`),
    numberHelper(binary(greatest, '-', least), `the largest minus the smallest of ${xs} (0 if it is empty)`),
    numberHelper(
      binary(call('sum', list), '-', greatest),
      `the sum of ${xs} without its largest item (0 if it is empty)`,
    ),
  ];
}

/** Helpers that take a part of a list or a string; `part` is `items` or `letters`. */
function partHelpers(type: 'list' | 'text', of: string, k: number): Helper[] {
  const whole = name(of);
  const part = type === 'list' ? 'items' : 'letters';
  return [
    helperLike(type, slice(whole, null, literal(k)), `the first ${k} ${part} of ${of}`, `${of} cut after ${k} ${part}`),
    helperLike(type, slice(whole, literal(k), null), `${of} without its first ${k} ${part}`),
    helperLike(type, slice(whole, literal(-k), null), `the last ${k} ${part} of ${of}`),
    helperLike(type, slice(whole, null, literal(-k)), `${of} without its last ${k} ${part}`),
    helperLike(type, slice(whole, null, null, -1), `${of} in reverse order`, `${of} backwards`),
    helperLike(type, slice(whole, null, null, 2), `every second one of the ${part} of ${of}, from the first on`),
  ];
}

/** Helpers that take a part whose size is an argument; a negative size counts as 0. */
function countedHelpers(type: 'list' | 'text', of: string, count: string): Helper[] {
  const [whole, size] = [name(of), call('max', name(count), ZERO)];
  const part = type === 'list' ? 'items' : 'letters';
  return [
    helperLike(type, slice(whole, null, size), `the first ${count} ${part} of ${of} (none if ${count} is negative)`),
    helperLike(
      type,
      slice(whole, size, null),
      `${of} without its first ${count} ${part} (all of it if ${count} is negative)`,
    ),
    helperLike(type, binary(whole, '*', name(count)), `${of} repeated ${count} times`),
  ];
}

function textUses(s: string, k: number, mark: string): Piece[] {
  return [
    piece(binary(HELD, '+', name(s)), `put ${s} after it`, `append ${s} to it`),
    piece(binary(name(s), '+', HELD), `put ${s} before it`),
    piece(binary(HELD, '*', literal(k)), `repeat it ${k} times`),
    piece(binary(HELD, '+', literal(mark)), `append '${mark}' to it`, `put '${mark}' after it`),
    piece(binary(literal(mark), '+', HELD), `put '${mark}' before it`),
    piece(call('len', HELD), 'take its length', 'count its letters'),
  ];
}

function listUses(xs: string, k: number): Piece[] {
  return [
    piece(call('sum', HELD), 'add up its items', 'take its sum'),
    piece(call('len', HELD), 'take its length', 'count its items'),
    piece(callOr('max', HELD, 0), 'take its largest item (0 if there is none)'),
    piece(binary(HELD, '+', name(xs)), `put ${xs} after it`, `append all of ${xs} to it`),
    piece(binary(HELD, '*', literal(k)), `repeat it ${k} times`),
    piece(binary(call('sum', HELD), '*', literal(k)), `take its sum times ${k}`),
  ];
}

export const LEVEL_RULES: readonly LevelRule[] = [
  {
    level: 1,
    short: true,
    draw: (stream) => {
      const [a = '', b = ''] = stream.pick(PAIRS);
      return {
        arguments: [
          { name: a, type: 'number' },
          { name: b, type: 'number' },
        ],
        helper: stream.pick(pairHelpers(a, b)),
        use: stream.pick(sums(stream.integer(2, 12))),
      };
    },
  },
  {
    level: 2,
    short: false,
    draw: (stream) => {
      const [a = '', b = '', c = ''] = stream.pick(TRIPLES);
      const helper = stream.pick(tripleHelpers(a, b, c, stream.integer(2, 9)));
      return {
        arguments: [a, b, c].map((text) => ({ name: text, type: 'number' })),
        helper,
        use: stream.pick(guards(stream.integer(3, 20))),
      };
    },
  },
  {
    level: 3,
    short: true,
    draw: (stream) => {
      const xs = stream.pick(LISTS);
      const k = stream.integer(2, 12);
      const length = piece(binary(HELD, '+', call('len', name(xs))), `add the length of ${xs} to it`);
      return {
        arguments: [{ name: xs, type: 'list' }],
        helper: stream.pick(listHelpers(xs)),
        use: stream.pick([...sums(k), ...guards(k), length]),
      };
    },
  },
  {
    level: 4,
    short: true,
    draw: (stream) => {
      const s = stream.pick(TEXTS);
      const helper = stream.pick(partHelpers('text', s, stream.integer(1, 4)));
      return {
        arguments: [{ name: s, type: 'text' }],
        helper,
        use: stream.pick(textUses(s, stream.integer(2, 4), stream.pick(MARKS))),
      };
    },
  },
  {
    level: 5,
    short: false,
    draw: (stream) => {
      const xs = stream.pick(LISTS);
      const helper = stream.pick(partHelpers('list', xs, stream.integer(1, 4)));
      return { arguments: [{ name: xs, type: 'list' }], helper, use: stream.pick(listUses(xs, stream.integer(2, 4))) };
    },
  },
  {
    level: 6,
    short: false,
    draw: (stream) => {
      const count = stream.pick(COUNTS);
      const type = stream.chance(0.5) ? 'list' : 'text';
      const of = stream.pick(type === 'list' ? LISTS : TEXTS);
      const k = stream.integer(2, 4);
      const uses = type === 'list' ? listUses(of, k) : textUses(of, k, stream.pick(MARKS));
      return {
        arguments: [
          { name: of, type },
          { name: count, type: 'count' },
        ],
        helper: stream.pick(countedHelpers(type, of, count)),
        use: stream.pick(uses),
      };
    },
  },
];
