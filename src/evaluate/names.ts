/** The evaluators that a run can name. auto: code by its tests; other answers as the task has them. */
export { EVALUATORS, type EvaluatorName } from '../shared/runNames.ts';
