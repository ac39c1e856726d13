/** Whether a message that a user typed fits behind its context. */
import { C3Error } from '../../shared/errors.ts';
import type { RoleModel } from '../models/roles.ts';

/** @throws C3Error('input') when a typed message and its context exceed the model's positions */
export async function checkLength(text: string, context: string, { tokenizer, info }: RoleModel): Promise<void> {
  const [typed, before] = await Promise.all([tokenizer.encode(text), tokenizer.encode(context)]);
  const tokens = typed.length + 1;
  const contextTokens = before.length;
  const { maxPositions } = info.config;
  if (contextTokens + tokens > maxPositions) {
    throw new C3Error(
      'input',
      `The text has ${tokens} tokens and its context ${contextTokens}, together more than the model's ${maxPositions} positions; shorten it.`,
    );
  }
}
