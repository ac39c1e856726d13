/** The evaluators that a run can name. auto: code by its tests; other answers as the task has them. */
export const EVALUATORS = ['auto', 'answer', 'math', 'math-lenient', 'python', 'python-fraction'] as const;
export type EvaluatorName = (typeof EVALUATORS)[number];
