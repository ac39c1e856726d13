/** Finds the token boundaries of a stored message with the tokenizer of its model. */
import type { FullMessage } from '../../domain/message.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { requireCapability } from '../../shared/rolePolicies.ts';
import type { ContextTokens } from '../../shared/transcript/contextTokens.ts';
import type { TextPool } from '../models/texts.ts';
import { roleWeights, type StoredRecipe } from '../recipe/recipe.ts';

/** Splits the context as the model read it, and decodes the stored tokens of the message. */
export async function contextTokens(
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
 * Like contextTokens, with the model of the role.
 * @throws C3Error('input') for a role without one; CancelledError
 */
export async function messageTokens(
  texts: TextPool,
  recipe: StoredRecipe,
  message: FullMessage,
  signal: AbortSignal,
): Promise<ContextTokens> {
  requireCapability(recipe.config.policies, message.role, 'tokens', 'look at its text');
  const folder = roleWeights(recipe, message.role)?.folder ?? recipe.modelFolder;
  return contextTokens(await texts.tokenizer(folder, signal), message);
}
