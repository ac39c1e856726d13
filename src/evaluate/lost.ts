/** That no evaluator is left. */
import { C3Error } from '../shared/errors.ts';

/**
 * No evaluator is left: nothing can be measured now, and whatever waits for a score is to stop, so that it can be taken
 * up again later.
 */
export class EvaluatorLost extends C3Error {
  /** What is to be waited for, as the end of a sentence. */
  readonly until: string;

  constructor(why: string, until = 'sandboxes work again') {
    super('engine', why, { code: 'evaluatorLost' });
    this.until = until;
  }
}
