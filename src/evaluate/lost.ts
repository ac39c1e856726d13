import { C3Error } from '../shared/errors.ts';

/**
 * Thrown when no evaluator is left: nothing can be measured now. Everything that waits for a score
 * must stop, so that it can be resumed later.
 */
export class EvaluatorLost extends C3Error {
  /** The condition to wait for, as the end of a sentence. */
  readonly until: string;

  constructor(why: string, until = 'sandboxes work again') {
    super('engine', why, { code: 'evaluatorLost' });
    this.until = until;
  }
}
