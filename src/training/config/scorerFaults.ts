/** Whether a configuration says what its evaluator scores with. */
import type { RunConfig } from './config.ts';

type Scoring = Pick<RunConfig, 'evaluator' | 'scorer'>;

/** What an evaluator lacks, after its key; null where it has all that it needs. */
export function evaluatorFault({ evaluator, scorer }: Scoring): string | null {
  if (evaluator === 'command' && scorer?.command === undefined) {
    return 'command needs the command that scores; add scorer: {command: [PROGRAM, ARGUMENT]}.';
  }
  const complete = scorer?.rubric !== undefined && scorer.judge !== undefined && scorer.labels !== undefined;
  return evaluator === 'judge' && !complete
    ? 'judge needs what it scores by, who it is and what it is measured on; add scorer: {rubric: TEXT, judge: {endpoint: ADDRESS, model_name: NAME}, labels: FILE}.'
    : null;
}

/** Why there is no use for a scorer, after its key; null where there is. */
export const scorerFault = ({ evaluator, scorer }: Scoring): string | null =>
  evaluator === 'command' || evaluator === 'judge' || scorer === null
    ? null
    : 'belongs to evaluator: command or judge; omit it, or choose one of them.';
