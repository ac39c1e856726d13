/** What scores the last message of an episode. */
import type { Instance } from '../shared/records.ts';
import { gradeAnswer } from './answer.ts';
import type { Verdict } from './answer.ts';
import { gradeMath, type Grader } from './math/grade.ts';

/** The evaluator itself failed: nothing is known of the message, so it has no score and counts nowhere. */
export interface Masked {
  readonly score: null;
  readonly rule: string;
  /** One sentence: what failed. */
  readonly masked: string;
}

export interface Evaluator {
  readonly name: string;
  /** Scores one message, with the same result for the same arguments; failures of the evaluator's own are masked, never thrown. */
  evaluate(instance: Instance, text: string): Verdict | Masked;
}

/** Compares the answer that a message states with the instance's, exactly; for the arithmetic task and GSM8K. */
export const answerEvaluator: Evaluator = {
  name: 'answer',
  evaluate: (instance, text) => withoutGold(instance) ?? gradeAnswer(instance.answer, text),
};

/** Compares the answer as mathematics: LaTeX, units, tuples, sets, intervals, expressions; for MATH, MATH500 and CMATH. Named `math` or `math-lenient`. */
export function mathEvaluator(grader: Grader): Evaluator {
  return {
    name: grader === 'strict' ? 'math' : 'math-lenient',
    evaluate: (instance, text) => withoutGold(instance) ?? gradeMath(instance.answer, text, grader),
  };
}

function withoutGold(instance: Instance): Masked | null {
  return instance.answer.trim() === '' ? { score: null, rule: 'no-gold', masked: `Instance ${instance.uid} has no answer to compare with.` } : null;
}
