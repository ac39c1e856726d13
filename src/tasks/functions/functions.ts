/**
 * A bundled task: Python functions in the form of HumanEval. A team writes each in two parts that do
 * not see each other. A prompt has a signature and a docstring. The helper writes `aux`, and the main
 * role writes the function that calls it. The problems are those of the first four levels of the
 * Python task.
 */

import type { ProblemTests } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { literalSource, name, sourceOf, type Expression } from '../python/pythonExpression.ts';
import { mutantsOf } from '../python/pythonMutants.ts';
import { chooseTests, wrongVersions, type Program, type Test, type WrongProgram } from '../python/pythonTests.ts';
import { FUNCTION_NAMES, HELPER, LEVEL_RULES, type Argument } from '../python/pythonWords.ts';
import { distinctQuestions, uidSha } from '../uid.ts';

/** The name of the helper's function. */
const AUX = 'aux';
const LEVELS = LEVEL_RULES.slice(0, 4);
const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];

/** The slips of a hasty main function: each omission costs a level of the reward. */
const MAIN_SLIPS = [
  { slip: 'none' },
  { slip: 'one line' },
  { slip: 'alone' },
  { slip: 'no return' },
  { slip: 'open bracket' },
] as const;
const MAIN_SLIP_WEIGHTS = [40, 20, 15, 10, 15];
const AUX_SLIPS = [{ slip: 'none' }, { slip: 'no return' }, { slip: 'open bracket' }] as const;
const AUX_SLIP_WEIGHTS = [75, 10, 15];
/** Share of hasty programs that compute wrong results. */
const WRONG_SHARE = 0.9;

export interface FunctionsProblem extends DemonstratedProblem {
  readonly tests: ProblemTests;
}

/**
 * Yields every distinct problem of a seed, without end.
 * @param levels weights of the levels 1 to 4, by position; missing ones are 0
 * @param sizes team sizes, with equal chances: two for a helper and the main role, one for the main
 *   role alone
 * @throws C3Error('input') for invalid levels or sizes
 */
export function distinctFunctions(
  seed: string,
  levels: readonly number[] = DEFAULT_MIX,
  sizes: readonly number[] = [2],
): Iterable<FunctionsProblem> {
  checkLevels(levels);
  if (sizes.length === 0 || !sizes.every((size) => size === 1 || size === 2)) {
    throw new C3Error('input', `The functions task has teams of 1 or 2 roles, not ${sizes.join(', ')}.`);
  }
  return distinctQuestions(drawProblems(seed, levels));
}

function* drawProblems(seed: string, levels: readonly number[]): Generator<FunctionsProblem, never, undefined> {
  for (let index = 0; ; index++) {
    yield drawProblem(seed, index, levels);
  }
}

/**
 * Returns draw `index` of a seed; depends only on its arguments. Draws again until the tests can
 * separate the program from wrong ones.
 */
function drawProblem(seed: string, index: number, levels: readonly number[]): FunctionsProblem {
  const stream = new HashedStream(`functions\0${seed}\0${index}`);
  const rule = stream.weighted(LEVELS, levels);
  for (;;) {
    const { arguments: list, helper, use } = rule.draw(stream);
    const program: Program = { helper: helper.expression, use: use.expression };
    const numbers = list.filter(({ type }) => type === 'number').map((argument) => argument.name);
    const wrong = wrongVersions(program, (expression) => mutantsOf(expression, numbers));
    const choice = chooseTests(stream, list, program, wrong);
    if (choice === null) {
      continue;
    }
    const entryPoint = stream.pick(FUNCTION_NAMES);
    const names = list.map((argument) => argument.name).join(', ');
    const words = `${stream.pick(helper.words)}, then ${stream.pick(use.words)}`;
    const question = `def ${entryPoint}(${names}):\n    """Find ${words}."""\n`;
    const careless = choice.caught.filter((version) => version.careless);
    const slip = stream.pick(careless.length > 0 ? careless : choice.caught);
    return {
      uid: `functions-${seed}-${index}`,
      uidSha: uidSha(question),
      question,
      answer: joined(said(entryPoint, names, program)),
      source: 'functions',
      level: rule.level,
      tests: {
        tests: [],
        test: checkOf(testsOf(question, list, program, wrong)),
        entryPoint,
        setup: '',
        prefix: question,
      },
      said: said(entryPoint, names, program),
      saidInHaste: hasty(stream, entryPoint, names, program, slip),
      short: rule.short,
    };
  }
}

/** Returns the tests of a question, which depend only on it, so that every seed gives the same. */
function testsOf(
  question: string,
  list: readonly Argument[],
  program: Program,
  wrong: readonly WrongProgram[],
): readonly Test[] {
  const stream = new HashedStream(`functions tests\0${question}`);
  for (;;) {
    const choice = chooseTests(stream, list, program, wrong);
    if (choice !== null) {
      return choice.tests;
    }
  }
}

/** Returns the test program in the form of HumanEval. */
const checkOf = (tests: readonly Test[]): string =>
  [
    'def check(candidate):',
    ...tests.map(
      ({ inputs, output }) =>
        `    assert candidate(${inputs.map(literalSource).join(', ')}) == ${literalSource(output)}`,
    ),
    '',
  ].join('\n');

/** Writes a function with these lines. */
const written = (signature: string, ...body: readonly string[]): string =>
  [`def ${signature}:`, ...body.map((line) => `    ${line}`)].join('\n');

/** Returns the messages of the helper and the main role. */
const said = (entryPoint: string, names: string, { helper, use }: Program): readonly [string, string] => [
  written(`${AUX}(${names})`, `return ${sourceOf(helper)}`),
  written(`${entryPoint}(${names})`, `${HELPER} = ${AUX}(${names})`, `return ${sourceOf(use)}`),
];

const joined = (messages: readonly string[]): string => messages.join('\n\n\n');

/** Returns both messages with independent slips. */
function hasty(
  stream: HashedStream,
  entryPoint: string,
  names: string,
  right: Program,
  wrong: Program,
): readonly string[] {
  const { helper, use } = stream.chance(WRONG_SHARE) ? wrong : right;
  return [
    hastyAux(stream.weighted(AUX_SLIPS, AUX_SLIP_WEIGHTS).slip, names, sourceOf(helper)),
    hastyMain(stream.weighted(MAIN_SLIPS, MAIN_SLIP_WEIGHTS).slip, `${entryPoint}(${names})`, names, helper, use),
  ];
}

function hastyAux(slip: (typeof AUX_SLIPS)[number]['slip'], names: string, helper: string): string {
  switch (slip) {
    case 'none':
      return written(`${AUX}(${names})`, `return ${helper}`);
    case 'no return':
      return written(`${AUX}(${names})`, `${HELPER} = ${helper}`);
    case 'open bracket':
      return written(`${AUX}(${names}`, `return ${helper}`);
  }
}

function hastyMain(
  slip: (typeof MAIN_SLIPS)[number]['slip'],
  signature: string,
  names: string,
  helper: Expression,
  use: Expression,
): string {
  const called = `${AUX}(${names})`;
  switch (slip) {
    case 'none':
      return written(signature, `${HELPER} = ${called}`, `return ${sourceOf(use)}`);
    case 'one line':
      return written(signature, `return ${sourceOf(withHelper(use, name(called)))}`);
    case 'alone':
      return written(signature, `${HELPER} = ${sourceOf(helper)}`, `return ${sourceOf(use)}`);
    case 'no return':
      return written(signature, `${HELPER} = ${called}`, `${HELPER} = ${sourceOf(use)}`);
    case 'open bracket':
      return written(signature, `${HELPER} = ${called.slice(0, -1)}`, `return ${sourceOf(use)}`);
  }
}

/** Returns a use with another expression in place of the helper's value. */
function withHelper(expression: Expression, value: Expression): Expression {
  const inside = (part: Expression): Expression => withHelper(part, value);
  switch (expression.kind) {
    case 'name':
      return expression.name === HELPER ? value : expression;
    case 'literal':
      return expression;
    case 'binary':
      return { ...expression, left: inside(expression.left), right: inside(expression.right) };
    case 'call':
      return { ...expression, arguments: expression.arguments.map(inside) };
    case 'slice':
      return { ...expression, of: inside(expression.of) };
  }
}

function checkLevels(levels: readonly number[]): void {
  const valid = levels.every(
    (weight, index) => Number.isFinite(weight) && weight >= 0 && (weight === 0 || index < LEVELS.length),
  );
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Functions levels [${levels.join(', ')}] are not valid: give 1 to ${LEVELS.length} weights from 0 up, at least one above 0.`,
    );
  }
}
