/** Reads the token counts of a model server's answer. */

import { fieldsAt, valueAt, type Fields } from './fields.ts';

/** Tokens of a prompt and of an answer. Null if the count is missing or is no whole number. */
export interface CountedTokens {
  readonly prompt: number | null;
  readonly completion: number | null;
}

const PROMPT = [
  'prompt_tokens',
  'input_tokens',
  'promptTokens',
  'inputTokens',
  'promptTokenCount',
  'prompt_token_count',
  'prompt_eval_count',
  'input',
] as const;
const COMPLETION = [
  'completion_tokens',
  'output_tokens',
  'completionTokens',
  'outputTokens',
  'candidatesTokenCount',
  'candidates_token_count',
  'eval_count',
  'output',
] as const;
/** Counts to add: Anthropic's for parts of a prompt, and Gemini's for parts of an answer. */
const BESIDE_PROMPT = ['cache_read_input_tokens', 'cache_creation_input_tokens'] as const;
const BESIDE_COMPLETION = ['thoughtsTokenCount', 'thoughts_token_count'] as const;

const countIn = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;

const sumCounts = (usage: Fields, keys: readonly string[], beside: readonly string[]): number | null => {
  const count = countIn(valueAt(usage, ...keys));
  return count === null ? null : beside.reduce((total, key) => total + (countIn(valueAt(usage, key)) ?? 0), count);
};

/** Returns the counts of a body. Ollama has them in the body itself. */
export function readTokens(body: Fields): CountedTokens {
  const usage = ['usage', 'usageMetadata'].map((key) => fieldsAt(body, key)).find((one) => Object.keys(one).length > 0);
  const counted = usage ?? body;
  return {
    prompt: sumCounts(counted, PROMPT, BESIDE_PROMPT),
    completion: sumCounts(counted, COMPLETION, BESIDE_COMPLETION),
  };
}

/**
 * Returns the token counts of a call, with 0 for a missing count.
 * @param usage in the form of its library
 */
export function readSpentTokens(usage: Fields): { readonly promptTokens: number; readonly completionTokens: number } {
  const { prompt, completion } = readTokens(usage);
  return { promptTokens: prompt ?? 0, completionTokens: completion ?? 0 };
}
