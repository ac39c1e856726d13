/** Evaluators by the names of their kinds. */
import { answerEvaluator, mathEvaluator, pythonEvaluator, type Evaluator } from './evaluator.ts';
import { evaluatorKind, type EvaluatorName } from './kinds.ts';
import type { PythonGrader } from './python/grader.ts';
import type { PassRule } from './python/rules.ts';

/**
 * The evaluator of a name.
 * @param stated whether the task asks for a number that is stated, and not for an expression that has its value (`####
 *   10+4` for 14)
 * @param grader gives the grader of a rule; asked for only where code may be scored
 */
export function evaluatorNamed(
  name: EvaluatorName,
  stated: boolean,
  grader: (rule: PassRule) => Pick<PythonGrader, 'grade'>,
): Evaluator {
  return evaluatorKind(name).make({
    stated,
    answer: answerEvaluator,
    math: mathEvaluator,
    python: (rule, named, answers) => pythonEvaluator(grader(rule), named, answers),
  });
}
