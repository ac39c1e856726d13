/** The tokens that a model server counts for one answer. */
import { fieldsAt, valueAt, type Fields } from './fields.ts';

/** Tokens of a prompt and of an answer; null for what is not counted, or by no whole number. */
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
/** What Anthropic counts of a prompt beside the rest of it, and Gemini of an answer. */
const BESIDE_PROMPT = ['cache_read_input_tokens', 'cache_creation_input_tokens'] as const;
const BESIDE_COMPLETION = ['thoughtsTokenCount', 'thoughts_token_count'] as const;

const countIn = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;

const sumAt = (usage: Fields, keys: readonly string[], beside: readonly string[]): number | null => {
  const count = countIn(valueAt(usage, ...keys));
  return count === null ? null : beside.reduce((total, key) => total + (countIn(valueAt(usage, key)) ?? 0), count);
};

/** What a body counts; Ollama counts in the body itself. */
export function tokensIn(body: Fields): CountedTokens {
  const usage = ['usage', 'usageMetadata'].map((key) => fieldsAt(body, key)).find((one) => Object.keys(one).length > 0);
  const counted = usage ?? body;
  return { prompt: sumAt(counted, PROMPT, BESIDE_PROMPT), completion: sumAt(counted, COMPLETION, BESIDE_COMPLETION) };
}

/** What a log counts of a call, as its message keeps it. @param usage as its library writes it; 0 for no count */
export function spentIn(usage: Fields): { readonly promptTokens: number; readonly completionTokens: number } {
  const { prompt, completion } = tokensIn(usage);
  return { promptTokens: prompt ?? 0, completionTokens: completion ?? 0 };
}
