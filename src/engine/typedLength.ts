/** Whether a message that a user typed fits behind its context. */
import { C3Error } from '../shared/errors.ts';
import type { LentPolicy } from './models.ts';

/** @throws C3Error('input') when a typed message and its context exceed the model's positions */
export function checkLength(text: string, context: string, { tokenizer, info }: LentPolicy): void {
  const tokens = tokenizer.encode(text).length + 1;
  const contextTokens = tokenizer.encode(context).length;
  const { maxPositions } = info.config;
  if (contextTokens + tokens > maxPositions) {
    throw new C3Error('input', `The text has ${String(tokens)} tokens and its context ${String(contextTokens)}, together more than the model's ${String(maxPositions)} positions; shorten it.`);
  }
}
