/** What scores a message. */
import type { SaidEvent } from '../domain/episode.ts';
import type { Examined } from '../domain/message.ts';
import type { Problem, ProblemTests } from '../domain/problem.ts';
import { gradeAnswer } from './answer.ts';
import { gradeChain, parseChain } from './chain.ts';
import { examineProgram } from './examine.ts';
import { climb, LADDER_POINTS, ladderWords, type LadderRules } from './ladder.ts';
import { EvaluatorLost } from './lost.ts';
import { gradeMath, type Grader } from './math/grade.ts';
import { gradePoints, parsePoints } from './points.ts';
import { extractCode, type CodeBlocks } from './python/code.ts';
import { programOfTurn } from './python/functionSource.ts';
import type { PythonGrader } from './python/grader.ts';
import { valueIn, valueProgram } from './python/value.ts';

export { EvaluatorLost } from './lost.ts';

/** What an evaluator says of a message. */
export interface Graded {
  /**
   * 0 to 1; null exactly when masked: the evaluator itself failed, nothing is known of the message, and it counts
   * nowhere.
   */
  readonly score: number | null;
  /** Where the answer was and how it compared, such as `hash-line: equal numbers`, or what the tests showed. */
  readonly rule: string;
  /** One sentence: what failed; absent where there is a score. */
  readonly masked?: string;
}

export interface Evaluator {
  readonly name: string;
  /**
   * Scores one message, with the same result for the same arguments, in whatever order they come; what the evaluator
   * cannot score is masked.
   * @param signal looked at before code is run: what waits for its turn is given up
   * @throws CancelledError where it was cancelled before it began; EvaluatorLost
   */
  evaluate(problem: Problem, text: string, signal?: AbortSignal): Promise<Graded>;
  /**
   * Executes a program in two functions against some of the tests of a problem, for feedback; absent where it
   * executes no code. Not a score, and no budget counts it.
   * @param slice the first n tests, the last |n| where it is below 0, all for 0
   * @throws as evaluate
   */
  readonly examine?: (problem: Problem, program: string, slice: number, signal?: AbortSignal) => Promise<Examined>;
  /**
   * What it scores of a turn whose last message is scored; absent where that message alone is scored.
   * @param messages of the turn, in order
   */
  readonly ofTurn?: (problem: Problem, messages: readonly TurnMessage[]) => string;
}

/** A message of a turn. */
export type TurnMessage = Pick<SaidEvent, 'role' | 'text'>;

/** What is scored of a turn, whose last message is the scored one. */
export const scoredText = (
  { ofTurn }: Pick<Evaluator, 'ofTurn'>,
  problem: Problem,
  messages: readonly TurnMessage[],
): string => ofTurn?.(problem, messages) ?? messages.at(-1)?.text ?? '';

/** Compares the answer that a message states with the problem's, exactly: numbers as numbers, all else as text. */
export const answerEvaluator: Evaluator = {
  name: 'answer',
  evaluate: (problem, text) => Promise.resolve(withoutGold(problem) ?? gradeAnswer(problem.answer, text)),
};

/** Adds up the points of a message's parts; what has no list of points is masked. */
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

/** Checks the chain that the messages of a turn are; what has no rule of a chain is masked. */
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

/**
 * Compares the answer as mathematics: LaTeX, units, tuples, sets, intervals, expressions. Named `math` or
 * `math-lenient`.
 */
export function mathEvaluator(grader: Grader): Evaluator {
  return {
    name: grader === 'strict' ? 'math' : 'math-lenient',
    evaluate: (problem, text) => Promise.resolve(withoutGold(problem) ?? gradeMath(problem.answer, text, grader)),
  };
}

/**
 * Runs the code of a message against the tests of the problem; where a problem has none, its answer is what
 * `answers` compares.
 */
export function pythonEvaluator(
  grader: Pick<PythonGrader, 'grade' | 'functions'>,
  name: string,
  answers: Evaluator,
  blocks?: CodeBlocks,
): Evaluator {
  return {
    name,
    examine: examiner(grader),
    evaluate: async (problem, text, signal) => {
      const { tests } = problem;
      if (tests === undefined) {
        return answers.evaluate(problem, text);
      }
      const code = programOf(tests, text, blocks);
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

/** What the tests run against: the code of a message, or a function that gives back its value; null for none. */
function programOf({ prefix, reads, entryPoint }: ProblemTests, text: string, blocks?: CodeBlocks): string | null {
  if (reads !== 'value') {
    return prefix + extractCode(text, blocks);
  }
  const value = valueIn(text);
  return value === null || entryPoint === null ? null : valueProgram(value, entryPoint);
}

const examiner =
  (grader: Pick<PythonGrader, 'functions'>): NonNullable<Evaluator['examine']> =>
  (problem, program, slice, signal) =>
    examineProgram(grader, problem, program, slice, signal);

/** Scores a program in two functions, a helper's and the main one, by its levels, as a share of all points. */
export function ladderEvaluator(
  grader: Pick<PythonGrader, 'functions'>,
  name: string,
  rules: LadderRules,
  blocks?: CodeBlocks,
): Evaluator {
  return {
    name,
    examine: examiner(grader),
    ofTurn: (problem, messages) =>
      programOfTurn(
        problem,
        messages.map(({ text }) => text),
        blocks,
      ),
    evaluate: async (problem, text, signal) => {
      const found = await examineProgram(grader, problem, text, 0, signal, rules === 'executed');
      if ('masked' in found) {
        return { score: null, rule: found.rule, masked: found.masked };
      }
      const ladder = climb(found, rules);
      return { score: ladder.total / LADDER_POINTS, rule: ladderWords(ladder, found.testCount) };
    },
  };
}

function withoutGold(problem: Problem): Graded | null {
  return problem.answer.trim() === ''
    ? { score: null, rule: 'no-gold', masked: `Problem ${problem.uid} has no answer to compare with.` }
    : null;
}
