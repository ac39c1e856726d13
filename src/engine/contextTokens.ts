/** The token boundaries of a stored decision, by the tokenizer of its run. */
import type { Tokenizer } from '../policy/tokenizer.ts';
import { spansOf, type ContextTokens } from '../shared/contextTokens.ts';
import type { Decision } from '../shared/records.ts';

/** Splits the context as it was given to the model, and names the stored tokens of the message. */
export function contextTokens(tokenizer: Tokenizer, decision: Pick<Decision, 'id' | 'context' | 'text' | 'tokens' | 'promptTokens'>): ContextTokens {
  const decode = (ids: readonly number[]): string => tokenizer.decodeWhole(Int32Array.from(ids));
  const context = spansOf([...tokenizer.encode(decision.context)], decision.context, decode);
  const answered = decode([...decision.tokens]);
  const answer = spansOf([...decision.tokens], answered, decode);
  return { message: decision.id, context: context.spans, answer: answer.spans, exact: context.exact, storedPromptTokens: decision.promptTokens };
}
