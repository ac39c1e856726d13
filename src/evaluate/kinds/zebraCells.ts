import { findAnswerWithoutForm, type EvaluatorKind } from '../kind.ts';
import { parseZebra } from '../puzzles/zebra.ts';

const NAME = 'zebra-cells';
const EXAMPLE = '{"House 1": {"Name": "Arnold"}, "House 2": {"Name": "Eric"}}';

export const zebraCells = {
  name: NAME,
  words: 'Grids of houses: the share of the cells of the solution that are right.',
  runsCode: false,
  fractional: true,
  fault: (problems) => findAnswerWithoutForm(NAME, (answer) => parseZebra(answer) !== null, EXAMPLE, problems),
  make: ({ puzzles }) => puzzles.zebra('cells'),
} as const satisfies EvaluatorKind;
