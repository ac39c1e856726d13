/** That no evaluator is left. */
import { C3Error } from '../shared/errors.ts';

/**
 * No evaluator is left: nothing can be measured now, and whatever waits for a score is to stop, so that it can be taken
 * up again later.
 */
export class EvaluatorLost extends C3Error {
  constructor(why: string) {
    super('engine', why, { code: 'evaluatorLost' });
  }
}
