import { findAnswerWithoutForm, type EvaluatorKind } from '../kind.ts';
import { parseBlocks } from '../puzzles/blocks.ts';

const NAME = 'blocksworld';
const EXAMPLE = '(define (problem p) (:domain blocksworld-4ops) (:objects red) ...)';

export const blocksworld = {
  name: NAME,
  words:
    'Plans of Blocksworld, in PDDL or in English: every action must be possible, and the goal must hold in the end. The answer is the problem in PDDL.',
  runsCode: false,
  fault: (problems) => findAnswerWithoutForm(NAME, (answer) => parseBlocks(answer) !== null, EXAMPLE, problems),
  make: ({ puzzles }) => puzzles.blocksworld,
} as const satisfies EvaluatorKind;
