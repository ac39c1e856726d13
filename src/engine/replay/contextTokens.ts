/** Finds the token boundaries of a stored message with the tokenizer of its model. */

import type { FullMessage } from '../../domain/message.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { requireCapability } from '../../shared/rolePolicies.ts';
import type { ContextTokens } from '../../shared/transcript/contextTokens.ts';
import type { TextPool } from '../models/texts.ts';
import { findRoleWeights, type StoredRecipe } from '../recipe/recipe.ts';

/** Splits the context as the model read it, and decodes the stored tokens of the message. */
export async function findContextTokens(
  tokenizer: Tokenizer,
  message: Pick<FullMessage, 'id' | 'context' | 'text' | 'tokens' | 'promptTokens'>,
): Promise<ContextTokens> {
  const ids = Int32Array.from(message.tokens);
  const [contextIds, answered] = await Promise.all([tokenizer.encode(message.context), tokenizer.decodeWhole(ids)]);
  const [context, answer] = await Promise.all([
    tokenizer.spans(contextIds, message.context),
    tokenizer.spans(ids, answered),
  ]);
  return {
    message: message.id,
    context: context.spans,
    answer: answer.spans,
    exact: context.exact,
    storedPromptTokens: message.promptTokens,
  };
}

/**
 * Like findContextTokens, with the model of the role.
 * @throws C3Error('input') for a role without one; CancelledError
 */
export async function findMessageTokens(
  texts: TextPool,
  recipe: StoredRecipe,
  message: FullMessage,
  signal: AbortSignal,
): Promise<ContextTokens> {
  requireCapability(recipe.config.policies, message.role, 'tokens', 'look at its text');
  const folder = findRoleWeights(recipe, message.role)?.folder ?? recipe.modelFolder;
  return findContextTokens(await texts.tokenizer(folder, signal), message);
}
