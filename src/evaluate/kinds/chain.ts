import { parseChain } from '../chain.ts';
import type { EvaluatorKind } from '../kind.ts';

export const chain = {
  name: 'chain',
  words:
    'The letters that the roles say, one after another, must keep to the whole rule in the answer of the problem, such as `chain of 3, ring of 16: from J to E by 1 2 5 without A H N`.',
  runsCode: false,
  fault: (problems) => {
    const wrong = problems.find(({ answer }) => parseChain(answer) === null);
    return wrong === undefined
      ? null
      : `evaluator: chain needs answers such as \`chain of 3, ring of 16: from J to E by 1 2 5 without A H N\`, and the answer of problem ${JSON.stringify(wrong.uid.slice(0, 120))} has another form; change it, or choose evaluator: auto.`;
  },
  make: (parts) => parts.chain,
} as const satisfies EvaluatorKind;
