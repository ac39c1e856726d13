/**
 * A bundled task: tiny Python functions of one helper idea and one expression in six graded levels,
 * with unit tests and with demonstrations for both roles of a team. A plan is the helper line, `h =
 * max(a, b)`; the solution is the function that begins with it.
 */

import type { ProblemTests } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import { toPlanned, type Demonstration, type PlannedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { distinctQuestions, uidSha } from '../uid.ts';
import { literalSource, sourceOf } from './pythonExpression.ts';
import { mutantsOf } from './pythonMutants.ts';
import { chooseTests, wrongVersions, type Program, type Test, type WrongProgram } from './pythonTests.ts';
import { FRAMES, FUNCTION_NAMES, HELPER, LEVEL_RULES, type Argument } from './pythonWords.ts';

export interface PythonProblem extends PlannedProblem {
  readonly tests: ProblemTests;
}

const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];

/**
 * Yields every distinct problem of a seed, without end; repeated questions are skipped. The uid
 * contains the index of the draw, so that with one mix of levels a uid always has the same question,
 * whatever the count.
 * @param levels weights of the levels 1 to 6, by position; missing ones are 0
 * @throws C3Error('input') for invalid levels
 */
export function distinctPythonProblems(seed: string, levels: readonly number[] = DEFAULT_MIX): Iterable<PythonProblem> {
  checkLevels(levels);
  return distinctQuestions(drawProblems(seed, levels));
}

function* drawProblems(seed: string, levels: readonly number[]): Generator<PythonProblem, never, undefined> {
  for (let index = 0; ; index++) {
    yield drawProblem(seed, index, levels);
  }
}

/**
 * Returns draw `index` of a seed; depends only on its arguments. Draws again until the tests can
 * separate the program from wrong ones.
 */
function drawProblem(seed: string, index: number, levels: readonly number[]): PythonProblem {
  const stream = new HashedStream(`python\0${seed}\0${index}`);
  const rule = stream.weighted(LEVEL_RULES, levels);
  for (;;) {
    const { arguments: list, helper, use } = rule.draw(stream);
    const program: Program = { helper: helper.expression, use: use.expression };
    const numbers = list.filter(({ type }) => type === 'number').map(({ name }) => name);
    const wrong = wrongVersions(program, (expression) => mutantsOf(expression, numbers));
    const choice = chooseTests(stream, list, program, wrong);
    if (choice === null) {
      continue;
    }
    const careless = choice.caught.filter((version) => version.careless);
    const slip = stream.pick(careless.length > 0 ? careless : choice.caught);
    const function_ = stream.pick(FUNCTION_NAMES);
    const signature = `${function_}(${list.map(({ name }) => name).join(', ')})`;
    const words: Readonly<Record<string, string>> = {
      f: signature,
      h: stream.pick(helper.words),
      u: stream.pick(use.words),
    };
    const question = stream.pick(FRAMES).replace(/\{(\w)\}/gu, (_, key: string) => words[key] ?? '');
    const demonstration = demonstrate(signature, program);
    return {
      uid: `python-${seed}-${index}`,
      uidSha: uidSha(question),
      question,
      answer: demonstration.solution,
      source: 'python',
      level: rule.level,
      tests: {
        tests: testsOf(question, list, program, wrong).map(
          ({ inputs, output }) =>
            `assert ${function_}(${inputs.map(literalSource).join(', ')}) == ${literalSource(output)}`,
        ),
        test: '',
        entryPoint: null,
        setup: '',
        prefix: '',
      },
      ...toPlanned(demonstration, demonstrate(signature, slip)),
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
  const stream = new HashedStream(`python tests\0${question}`);
  for (;;) {
    const choice = chooseTests(stream, list, program, wrong);
    if (choice !== null) {
      return choice.tests;
    }
  }
}

function demonstrate(signature: string, { helper, use }: Program): Demonstration {
  const plan = `${HELPER} = ${sourceOf(helper)}`;
  return { plan, solution: `def ${signature}:\n    ${plan}\n    return ${sourceOf(use)}` };
}

function checkLevels(levels: readonly number[]): void {
  const valid = levels.every(
    (weight, index) => Number.isFinite(weight) && weight >= 0 && (weight === 0 || index < LEVEL_RULES.length),
  );
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Python levels [${levels.join(', ')}] are not valid: give 1 to ${LEVEL_RULES.length} weights from 0 up, at least one above 0.`,
    );
  }
}
