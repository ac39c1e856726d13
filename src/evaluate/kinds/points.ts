import type { EvaluatorKind } from '../kind.ts';
import { parsePoints } from '../points.ts';

export const points = {
  name: 'points',
  words:
    'The points of the parts of a message, which are separated by commas, as a share of all: the answer of a problem lists them, such as `red: 2, blue: 1; 7: 3; of 5`.',
  runsCode: false,
  fractional: true,
  fault: (problems) => {
    const wrong = problems.find(({ answer }) => parsePoints(answer) === null);
    return wrong === undefined
      ? null
      : `evaluator: points needs answers such as \`red: 2, blue: 1; 7: 3; of 5\`, and the answer of problem ${JSON.stringify(wrong.uid.slice(0, 120))} has another form; change it, or choose evaluator: auto.`;
  },
  make: (parts) => parts.points,
} as const satisfies EvaluatorKind;
