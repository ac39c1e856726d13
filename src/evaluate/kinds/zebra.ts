import { findAnswerWithoutForm, type EvaluatorKind } from '../kind.ts';
import { parseZebra } from '../puzzles/zebra.ts';

const NAME = 'zebra';
const EXAMPLE = '{"House 1": {"Name": "Arnold"}, "House 2": {"Name": "Eric"}}';

export const zebra = {
  name: NAME,
  words:
    'Grids of houses (ZebraLogic): the last JSON object of a message needs every cell of the solution in the answer of the problem right, or the score is 0.',
  runsCode: false,
  fault: (problems) => findAnswerWithoutForm(NAME, (answer) => parseZebra(answer) !== null, EXAMPLE, problems),
  make: ({ puzzles }) => puzzles.zebra('all'),
} as const satisfies EvaluatorKind;
