/** The token boundaries of a stored decision, by the tokenizer of its run. */
import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { ContextTokens } from '../../shared/transcript/contextTokens.ts';
import type { Decision } from '../../shared/records/records.ts';

/** Splits the context as it was given to the model, and names the stored tokens of the message. */
export async function contextTokens(
  tokenizer: Tokenizer,
  decision: Pick<Decision, 'id' | 'context' | 'text' | 'tokens' | 'promptTokens'>,
): Promise<ContextTokens> {
  const ids = Int32Array.from(decision.tokens);
  const [contextIds, answered] = await Promise.all([tokenizer.encode(decision.context), tokenizer.decodeWhole(ids)]);
  const [context, answer] = await Promise.all([
    tokenizer.spans(contextIds, decision.context),
    tokenizer.spans(ids, answered),
  ]);
  return {
    message: decision.id,
    context: context.spans,
    answer: answer.spans,
    exact: context.exact,
    storedPromptTokens: decision.promptTokens,
  };
}
