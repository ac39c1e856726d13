/** Evaluators: they score messages. */

import type { SaidEvent } from '../domain/episode.ts';
import type { Examined } from '../domain/message.ts';
import type { Problem, ProblemTests } from '../domain/problem.ts';
import { gradeAnswer } from './answer.ts';
import { gradeChain, parseChain } from './chain.ts';
import { examineProgram } from './examine.ts';
import { scoreLadder, LADDER_POINTS, formatLadder, type LadderRules } from './ladder.ts';
import { EvaluatorLost } from './lost.ts';
import { gradeMath, type Grader } from './math/grade.ts';
import { gradePoints, parsePoints } from './points.ts';
import { extractCode, type CodeBlocks } from './python/code.ts';
import { joinTurnProgram } from './python/functionSource.ts';
import type { PythonGrader } from './python/grader.ts';
import { extractValueText, writeValueProgram } from './python/value.ts';

export { EvaluatorLost } from './lost.ts';

/** The result of an evaluator for a message. */
export interface Graded {
  /** From 0 to 1. Null if masked: the evaluator itself failed, and the message counts nowhere. */
  readonly score: number | null;
  /** The place of the answer and the result, such as `hash-line: equal numbers`, or the test results. */
  readonly rule: string;
  /** One sentence that says what failed; absent if there is a score. */
  readonly masked?: string;
}

export interface Evaluator {
  readonly name: string;
  /**
   * Scores one message. The result is the same for the same arguments, in whatever order they come;
   * messages that the evaluator cannot score are masked.
   * @param signal checked before code is run, so that waiting calls are given up
   * @throws CancelledError if it was cancelled before it began; EvaluatorLost
   */
  evaluate(problem: Problem, text: string, signal?: AbortSignal): Promise<Graded>;
  /**
   * Executes a program of two functions against some of the tests of a problem, for feedback. Absent if
   * the evaluator executes no code. It is not a score, and no budget counts it.
   * @param slice the first n tests, the last |n| if it is below 0, all for 0
   * @throws as evaluate
   */
  readonly examine?: (problem: Problem, program: string, slice: number, signal?: AbortSignal) => Promise<Examined>;
  /**
   * Returns the text to score for a turn whose last message is scored. If absent, only that message is
   * scored.
   * @param messages of the turn, in order
   */
  readonly ofTurn?: (problem: Problem, messages: readonly TurnMessage[]) => string;
}

export type TurnMessage = Pick<SaidEvent, 'role' | 'text'>;

/** Returns the text that is scored for a turn whose last message is scored. */
export const selectScoredText = (
  { ofTurn }: Pick<Evaluator, 'ofTurn'>,
  problem: Problem,
  messages: readonly TurnMessage[],
): string => ofTurn?.(problem, messages) ?? messages.at(-1)?.text ?? '';

/** Compares the stated answer with the problem's exactly: numbers as numbers, all else as text. */
export const answerEvaluator: Evaluator = {
  name: 'answer',
  evaluate: (problem, text) => Promise.resolve(maskWithoutGold(problem) ?? gradeAnswer(problem.answer, text)),
};

/** Adds up the points of a message's parts. A problem without a list of points is masked. */
export const pointsEvaluator: Evaluator = {
  name: 'points',
  evaluate: ({ answer, uid }, text) => {
    const key = parsePoints(answer);
    return Promise.resolve(
      key === null
        ? { score: null, rule: 'no-gold', masked: `The answer of problem ${uid} lists no points.` }
        : gradePoints(key, text),
    );
  },
};

/** Checks the chain that the messages of a turn form. A problem without a rule of a chain is masked. */
export const chainEvaluator: Evaluator = {
  name: 'chain',
  ofTurn: (_, messages) => messages.map(({ text }) => text).join(', '),
  evaluate: ({ answer, uid }, text) => {
    const key = parseChain(answer);
    return Promise.resolve(
      key === null
        ? { score: null, rule: 'no-gold', masked: `The answer of problem ${uid} is no rule of a chain.` }
        : gradeChain(key, text),
    );
  },
};

/** Compares LaTeX, units, tuples, sets, intervals and expressions. Named `math` or `math-lenient`. */
export function makeMathEvaluator(grader: Grader): Evaluator {
  return {
    name: grader === 'strict' ? 'math' : 'math-lenient',
    evaluate: (problem, text) => Promise.resolve(maskWithoutGold(problem) ?? gradeMath(problem.answer, text, grader)),
  };
}

/** Runs the code of a message against the tests; `answers` scores problems without tests. */
export function makePythonEvaluator(
  grader: Pick<PythonGrader, 'grade' | 'functions'>,
  name: string,
  answers: Evaluator,
  blocks?: CodeBlocks,
): Evaluator {
  return {
    name,
    examine: makeExaminer(grader),
    evaluate: async (problem, text, signal) => {
      const { tests } = problem;
      if (tests === undefined) {
        return answers.evaluate(problem, text);
      }
      const code = extractTestedProgram(tests, text, blocks);
      if (code === null) {
        return { score: 0, rule: 'no-value' };
      }
      const { score, rule, masked } = await grader.grade(code, tests, problem.uidSha, signal);
      if (rule === 'sandbox') {
        throw new EvaluatorLost(masked ?? '');
      }
      return masked === null ? { score, rule } : { score, rule, masked };
    },
  };
}

/** Returns the program to test: the code of a message, or a function that returns its value, or null. */
function extractTestedProgram(
  { prefix, reads, entryPoint }: ProblemTests,
  text: string,
  blocks?: CodeBlocks,
): string | null {
  if (reads !== 'value') {
    return prefix + extractCode(text, blocks);
  }
  const value = extractValueText(text);
  return value === null || entryPoint === null ? null : writeValueProgram(value, entryPoint);
}

const makeExaminer =
  (grader: Pick<PythonGrader, 'functions'>): NonNullable<Evaluator['examine']> =>
  (problem, program, slice, signal) =>
    examineProgram(grader, problem, program, slice, signal);

/** Scores a program of a helper and a main function by its levels, as a share of all points. */
export function makeLadderEvaluator(
  grader: Pick<PythonGrader, 'functions'>,
  name: string,
  rules: LadderRules,
  blocks?: CodeBlocks,
): Evaluator {
  return {
    name,
    examine: makeExaminer(grader),
    ofTurn: (problem, messages) =>
      joinTurnProgram(
        problem,
        messages.map(({ text }) => text),
        blocks,
      ),
    evaluate: async (problem, text, signal) => {
      const found = await examineProgram(grader, problem, text, 0, signal, rules === 'executed');
      if ('masked' in found) {
        return { score: null, rule: found.rule, masked: found.masked };
      }
      const ladder = scoreLadder(found, rules);
      return { score: ladder.total / LADDER_POINTS, rule: formatLadder(ladder, found.testCount) };
    },
  };
}

function maskWithoutGold(problem: Problem): Graded | null {
  return problem.answer.trim() === ''
    ? { score: null, rule: 'no-gold', masked: `Problem ${problem.uid} has no answer to compare with.` }
    : null;
}
