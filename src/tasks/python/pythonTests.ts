/** Chooses a few unit tests of a problem, such that every known wrong version fails one of them. */

import type { HashedStream } from '../hashedStream.ts';
import { evaluateExpression, PythonError, type Environment, type Expression, type Value } from './pythonExpression.ts';
import type { Mutant } from './pythonMutants.ts';
import { HELPER, type Argument } from './pythonWords.ts';

/** A program of two lines: `h = helper`, `return use`. */
export interface Program {
  readonly helper: Expression;
  readonly use: Expression;
}

/** A program with one fault. */
export type WrongProgram = Program & Omit<Mutant, 'expression'>;

export interface ChosenTests {
  readonly tests: readonly Test[];
  /** The versions that fail one of the tests. */
  readonly caught: readonly WrongProgram[];
}

export interface Test {
  /** In the order of the arguments. */
  readonly inputs: readonly Value[];
  readonly output: Value;
}

const FEWEST_TESTS = 4;
const MOST_TESTS = 5;
/** Number of ordinary inputs, which come before the edge cases. */
const ORDINARY = 8;
const FEWEST_EDGES = 2;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** Returns the result of a program, or null if Python raises. */
export function runProgram({ helper, use }: Program, inputs: Environment): Value | null {
  try {
    return evaluateExpression(use, { ...inputs, [HELPER]: evaluateExpression(helper, inputs) });
  } catch (error) {
    if (error instanceof PythonError) {
      return null;
    }
    throw error;
  }
}

/**
 * Chooses four or five tests. The first is ordinary, and at least two are edge cases.
 * @returns null if five tests do not catch every wrong version (except exchanged operands, which may
 *   be right), or if the program itself raises
 */
export function chooseTests(
  stream: HashedStream,
  list: readonly Argument[],
  program: Program,
  wrong: readonly WrongProgram[],
): ChosenTests | null {
  const pool = candidateInputs(stream, list);
  const outputs = pool.map((inputs) => runProgram(program, named(list, inputs)));
  if (outputs.includes(null)) {
    return null;
  }
  const tests = pool.map((inputs, index) => ({ inputs, output: outputs[index] ?? 0 }));
  const failures = wrong.map((version) => {
    const indices = tests.flatMap((test, index) =>
      sameValue(runProgram(version, named(list, test.inputs)), test.output) ? [] : [index],
    );
    return { version, indices: new Set(indices) };
  });
  if (failures.some(({ version, indices }) => indices.size === 0 && !version.exchanged)) {
    return null;
  }
  const caught = failures.filter(({ indices }) => indices.size > 0);
  const chosen = new Set([0]);
  let open = caught.map(({ indices }) => indices).filter((indices) => !indices.has(0));
  while (open.length > 0) {
    const best = mostFrequent(open);
    chosen.add(best);
    open = open.filter((indices) => !indices.has(best));
  }
  while (chosen.size < FEWEST_TESTS || [...chosen].filter((index) => index >= ORDINARY).length < FEWEST_EDGES) {
    const index = stream.integer(ORDINARY, pool.length - 1);
    const inputs = JSON.stringify(pool[index]);
    if (![...chosen].some((other) => JSON.stringify(pool[other]) === inputs)) {
      chosen.add(index);
    }
  }
  return chosen.size > MOST_TESTS
    ? null
    : { tests: [...chosen].flatMap((index) => tests[index] ?? []), caught: caught.map(({ version }) => version) };
}

/** Returns the versions of a program with one fault. */
export function wrongVersions({ helper, use }: Program, mutants: (expression: Expression) => Mutant[]): WrongProgram[] {
  return [
    ...mutants(helper).map(({ expression, careless, exchanged }) => ({ helper: expression, use, careless, exchanged })),
    ...mutants(use).map(({ expression, careless, exchanged }) => ({ helper, use: expression, careless, exchanged })),
  ];
}

export function named(list: readonly Argument[], inputs: readonly Value[]): Environment {
  return Object.fromEntries(list.map(({ name }, index): [string, Value] => [name, inputs[index] ?? 0]));
}

/** Returns the first of the indices that occur in the most sets. */
function mostFrequent(sets: readonly ReadonlySet<number>[]): number {
  const counts = new Map<number, number>();
  for (const set of sets) {
    for (const index of set) {
      counts.set(index, (counts.get(index) ?? 0) + 1);
    }
  }
  return [...counts].reduce(
    (best, entry) => (entry[1] > best[1] || (entry[1] === best[1] && entry[0] < best[0]) ? entry : best),
    [0, 0],
  )[0];
}

function sameValue(left: Value | null, right: Value): boolean {
  if (left === null || typeof left !== typeof right) {
    return false;
  }
  return typeof left === 'object' && typeof right === 'object'
    ? left.length === right.length && left.every((item, index) => item === right[index])
    : left === right;
}

/**
 * Returns ordinary inputs, then edge cases: zero, signs and ties, empty, single and short values, and
 * counts below and above the sizes.
 */
function candidateInputs(stream: HashedStream, list: readonly Argument[]): Value[][] {
  const ordinary = Array.from({ length: ORDINARY }, () => list.map((argument) => ordinaryValue(stream, argument)));
  const edges = Math.max(...list.map((argument) => edgeValues(stream, argument).length));
  const rows: Value[][] = [];
  for (const [index, argument] of list.entries()) {
    for (const edge of edgeValues(stream, argument)) {
      rows.push(list.map((other, position) => (position === index ? edge : ordinaryValue(stream, other))));
    }
  }
  for (let row = 0; row < edges; row++) {
    rows.push(list.map((argument) => edgeValues(stream, argument)[row % edgeValues(stream, argument).length] ?? 0));
  }
  return [...ordinary, ...rows];
}

function ordinaryValue(stream: HashedStream, { type }: Argument): Value {
  switch (type) {
    case 'number':
      return stream.integer(1, 25);
    case 'count':
      return stream.integer(1, 3);
    case 'list':
      return Array.from({ length: stream.integer(4, 6) }, () => stream.integer(1, 15));
    case 'text':
      return Array.from({ length: stream.integer(5, 7) }, () => LETTERS.charAt(stream.integer(0, 25))).join('');
  }
}

function edgeValues(stream: HashedStream, { type }: Argument): Value[] {
  switch (type) {
    case 'number':
      return [0, stream.integer(-20, -1), stream.integer(26, 60), 1, -1];
    case 'count':
      return [0, -1, -2, 9];
    case 'list':
      return [
        [],
        [stream.integer(2, 15)],
        [stream.integer(-9, -1), stream.integer(-20, -10), stream.integer(-9, -1)],
        [5, 2],
        [stream.integer(-9, -1), 0, stream.integer(10, 20), stream.integer(-9, -1), 3],
      ];
    case 'text':
      return ['', LETTERS.charAt(stream.integer(0, 25)), 'ab', 'level'];
  }
}
