import { findAnswerWithoutForm, type EvaluatorKind } from '../kind.ts';
import { parseSecret } from '../puzzles/numbers.ts';

const NAME = 'numbers';
const EXAMPLE = 'secret number 0427';

export const numbers = {
  name: NAME,
  words:
    'The last guess in a message must be the secret number in the answer of the problem, such as `secret number 0427`.',
  runsCode: false,
  fault: (problems) => findAnswerWithoutForm(NAME, (answer) => parseSecret(answer) !== null, EXAMPLE, problems),
  make: ({ puzzles }) => puzzles.numbers,
} as const satisfies EvaluatorKind;
