/** Evaluators by the names of their kinds. */

import type { TaskName } from '../shared/runNames.ts';
import {
  answerEvaluator,
  chainEvaluator,
  makeLadderEvaluator,
  makeMathEvaluator,
  pointsEvaluator,
  makePythonEvaluator,
  type Evaluator,
  type Graded,
} from './evaluator.ts';
import { getEvaluatorKind, type EvaluatorName } from './kinds.ts';
import { gradePlan, parseBlocks } from './puzzles/blocks.ts';
import { gradeGuess, parseSecret } from './puzzles/numbers.ts';
import { gradeZebra, parseZebra, type ZebraRule } from './puzzles/zebra.ts';
import type { CodeBlocks } from './python/code.ts';
import type { PythonGrader } from './python/grader.ts';
import { maskVerdict, type PassRule } from './python/rules.ts';

/**
 * The form of a task's answers: a stated number or letter, for which an expression with the same value
 * does not count (`#### 10+4` for 14); points for each part of a message; mathematics; a helper and a
 * function, which `auto` scores as `ladder`; the rule of a chain, which it scores as `chain`; or the
 * key of a puzzle.
 */
export type AnswerForm = 'stated' | 'points' | 'mathematics' | 'functions' | 'chain' | 'puzzle';

const FORMS: Readonly<Record<TaskName, AnswerForm>> = {
  arithmetic: 'stated',
  python: 'mathematics',
  dealer: 'points',
  functions: 'functions',
  logic: 'stated',
  chain: 'chain',
  hints: 'stated',
  zebra: 'puzzle',
  numbers: 'puzzle',
  blocksworld: 'puzzle',
};

/** Returns the form of a task's answers; those of files (null) are mathematics or a puzzle's key. */
export const getAnswerForm = (task: TaskName | null): AnswerForm => (task === null ? 'mathematics' : FORMS[task]);

/** Used if no command may be run. */
const WITHOUT_COMMAND: Evaluator = {
  name: 'command',
  evaluate: () => Promise.resolve({ score: null, rule: 'command', masked: 'No command is run here.' }),
};

/** Used if no model may be asked. */
const WITHOUT_JUDGE: Evaluator = {
  name: 'judge',
  evaluate: () => Promise.resolve({ score: null, rule: 'judge', masked: 'No model judge is asked here.' }),
};

/** The kind that `auto` selects for a form whose messages are scored together. */
const OF_TURNS: Readonly<Partial<Record<AnswerForm, EvaluatorName>>> = { functions: 'ladder', chain: 'chain' };

/**
 * Returns the evaluator of a name.
 * @param grader returns the grader for a rule; called only if code may be scored
 * @param own the user's command, or the model judge; without it, their messages are masked
 * @param blocks the blocks of a message that are its code
 */
export function makeEvaluator(
  name: EvaluatorName,
  form: AnswerForm,
  grader: (rule: PassRule) => Pick<PythonGrader, 'grade' | 'functions'>,
  own?: Evaluator,
  blocks?: CodeBlocks,
): Evaluator {
  const math = makeMathEvaluator('strict');
  const answers = chooseByAnswer(math);
  return getEvaluatorKind(name === 'auto' ? (OF_TURNS[form] ?? name) : name).make({
    plain: {
      stated: answerEvaluator,
      points: pointsEvaluator,
      mathematics: answers,
      functions: math,
      chain: chainEvaluator,
      puzzle: answers,
    }[form],
    answer: answerEvaluator,
    command: own ?? WITHOUT_COMMAND,
    judge: own ?? WITHOUT_JUDGE,
    points: pointsEvaluator,
    chain: chainEvaluator,
    puzzles: { zebra: makeZebraEvaluator, numbers: numbersEvaluator, blocksworld: blocksworldEvaluator },
    math: makeMathEvaluator,
    python: (rule, named, answers) => makePythonEvaluator(grader(rule), named, answers, blocks),
    ladder: (rules, named) => makeLadderEvaluator(grader('fraction'), named, rules, blocks),
  });
}

/** Scores each problem by its answer: the key of a puzzle, or an answer that `others` compares. */
const chooseByAnswer = (others: Evaluator): Evaluator => ({
  name: others.name,
  evaluate: (problem, text) => (findPuzzleEvaluator(problem.answer) ?? others).evaluate(problem, text),
});

const WITHOUT_CODE = maskVerdict('no-tests', 'No code is run here.');

/** Returns the evaluator of a name if no code may be run; results that need code are masked. */
export const makeEvaluatorWithoutCode = (name: EvaluatorName, form: AnswerForm): Evaluator =>
  makeEvaluator(name, form, () => ({
    grade: () => Promise.resolve(WITHOUT_CODE),
    functions: () => Promise.resolve(WITHOUT_CODE),
  }));

/**
 * Makes the evaluator of a puzzle, which reads the key from a problem's answer and scores the last
 * message exactly.
 * @param read returns null if an answer is not a key
 * @param what the name of the key, for the sentence that says it is missing
 */
const makePuzzleEvaluator = <Key>(
  name: string,
  read: (answer: string) => Key | null,
  what: string,
  grade: (key: Key, text: string) => Graded,
): Evaluator => ({
  name,
  evaluate: ({ answer, uid }, text) => {
    const key = read(answer);
    return Promise.resolve(
      key === null
        ? { score: null, rule: 'no-gold', masked: `The answer of problem ${uid} is no ${what}.` }
        : grade(key, text),
    );
  },
});

const makeZebraEvaluator = (by: ZebraRule): Evaluator =>
  makePuzzleEvaluator(by === 'all' ? 'zebra' : 'zebra-cells', parseZebra, 'grid of houses', (key, text) =>
    gradeZebra(key, text, by),
  );

const numbersEvaluator: Evaluator = makePuzzleEvaluator('numbers', parseSecret, 'secret number', gradeGuess);

const blocksworldEvaluator: Evaluator = makePuzzleEvaluator(
  'blocksworld',
  parseBlocks,
  'problem of Blocksworld',
  gradePlan,
);

/** Returns the evaluator of a problem whose answer is the key of a puzzle, or null if it is not. */
function findPuzzleEvaluator(answer: string): Evaluator | null {
  if (answer.startsWith('{') && parseZebra(answer) !== null) {
    return makeZebraEvaluator('all');
  }
  if (answer.startsWith('(define') && parseBlocks(answer) !== null) {
    return blocksworldEvaluator;
  }
  return parseSecret(answer) === null ? null : numbersEvaluator;
}
