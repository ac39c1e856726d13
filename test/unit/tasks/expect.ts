import { C3Error } from '../../../src/shared/errors.ts';

/** For assert.throws and assert.rejects: a one-line C3Error of kind input whose message matches. */
export function isInputError(message: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof C3Error && error.kind === 'input' && message.test(error.message) && !error.message.includes('\n');
}
