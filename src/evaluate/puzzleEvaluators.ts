/** Evaluators of puzzles: each reads its key from the answer of a problem and scores the last message exactly. */
import type { Evaluator, Graded } from './evaluator.ts';
import { gradePlan, parseBlocks } from './puzzles/blocks.ts';
import { gradeGuess, parseSecret } from './puzzles/numbers.ts';
import { gradeZebra, parseZebra, type ZebraRule } from './puzzles/zebra.ts';

/**
 * @param read null where an answer is no key
 * @param what the key is, for the sentence that says it is missing
 */
const byKey = <Key>(
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

/** Compares the cells of a grid of houses. */
export const zebraEvaluator = (by: ZebraRule): Evaluator =>
  byKey(by === 'all' ? 'zebra' : 'zebra-cells', parseZebra, 'grid of houses', (key, text) => gradeZebra(key, text, by));

/** Compares a guess with a secret number. */
export const numbersEvaluator: Evaluator = byKey('numbers', parseSecret, 'secret number', gradeGuess);

/** Executes a plan of Blocksworld. */
export const blocksworldEvaluator: Evaluator = byKey('blocksworld', parseBlocks, 'problem of Blocksworld', gradePlan);

/** What scores a problem whose answer is the key of a puzzle; null where it is none. */
export function puzzleEvaluatorOf(answer: string): Evaluator | null {
  if (answer.startsWith('{') && parseZebra(answer) !== null) {
    return zebraEvaluator('all');
  }
  if (answer.startsWith('(define') && parseBlocks(answer) !== null) {
    return blocksworldEvaluator;
  }
  return parseSecret(answer) === null ? null : numbersEvaluator;
}
