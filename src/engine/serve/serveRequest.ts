/** Reads requests of the OpenAI-compatible protocol. Unsupported settings are refused, never ignored. */

import { z } from 'zod';
import type { PromptMessage } from '../../team/render.ts';
import { ServeError } from './serveError.ts';

export type ServedApi = 'chat' | 'completions';

/** A prompt of a request: a conversation, a text, or token ids. */
export type ServedPrompt =
  | { readonly kind: 'messages'; readonly messages: readonly PromptMessage[] }
  | { readonly kind: 'text'; readonly text: string; readonly whole: boolean }
  | { readonly kind: 'ids'; readonly ids: readonly number[] };

export interface ServedRequest {
  readonly api: ServedApi;
  readonly prompts: readonly ServedPrompt[];
  /** Number of choices for each prompt. */
  readonly choices: number;
  /** Null for as many tokens as the model has positions for, up to a bound. */
  readonly maxTokens: number | null;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  /** Null if the request has none. */
  readonly seed: number | null;
  readonly stop: readonly string[];
  readonly logprobs: boolean;
  readonly tokenIds: boolean;
  readonly stream: boolean;
  /** True if a stream ends with the counts of tokens. */
  readonly streamUsage: boolean;
}

/** Bounds of one request. */
const MOST = { prompts: 64, choices: 64, messages: 4096, stops: 16, stop: 256 } as const;
const CONTENT = 'must be a text, or a list of parts {"type": "text", "text": ...}';

const content = z
  .union([z.string(), z.array(z.looseObject({ type: z.literal('text'), text: z.string() })), z.null()], {
    error: CONTENT,
  })
  .transform((given) => (typeof given === 'string' ? given : (given ?? []).map(({ text }) => text).join('')));
const message = z.looseObject({
  // Newer clients send the system role under this name.
  role: z
    .enum(['system', 'developer', 'user', 'assistant', 'tool'])
    .transform((role) => (role === 'developer' ? 'system' : role)),
  content: content.optional().transform((text) => text ?? ''),
});
/** IDs have 32 bits. A larger one must be refused, or it would wrap to another token. */
const ids = z
  .array(
    z
      .int()
      .min(0)
      .max(2 ** 31 - 1),
  )
  .min(1);
const count = (most: number): z.ZodInt => z.int().min(1).max(most);
const common = {
  model: z.string().nullish(),
  n: count(MOST.choices).nullish(),
  max_tokens: count(2 ** 24).nullish(),
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(-1).nullish(),
  seed: z.int().nullish(),
  stop: z
    .union([z.string(), z.array(z.string()).max(MOST.stops)])
    .transform((given) => [given].flat().filter((text) => text !== ''))
    .refine((stops) => stops.every(({ length }) => length <= MOST.stop), `must have ${MOST.stop} characters at most`)
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  return_token_ids: z.boolean().nullish(),
};
const chatSchema = z.looseObject({
  ...common,
  messages: z.array(message).min(1).max(MOST.messages),
  max_completion_tokens: count(2 ** 24).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).nullish(),
});
const completionsSchema = z.looseObject({
  ...common,
  prompt: z.union([z.string(), ids, z.array(z.string()).min(1), z.array(ids).min(1)], {
    error: 'must be a text, token ids, or a list of either',
  }),
  logprobs: z.int().min(0).nullish(),
  add_special_tokens: z.boolean().nullish(),
});

/** Unsupported keys, each with a check that returns true for values that have no effect. */
const NOT_DONE: Readonly<Record<string, (value: unknown) => boolean>> = {
  tools: isEmpty,
  functions: isEmpty,
  tool_choice: (value) => value === 'none' || value === 'auto',
  function_call: (value) => value === 'none' || value === 'auto',
  response_format: (value) => typeof value === 'object' && value !== null && 'type' in value && value.type === 'text',
  logit_bias: isEmpty,
  presence_penalty: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  best_of: (value) => value === 1,
  echo: (value) => value === false,
  suffix: (value) => value === '',
  audio: isEmpty,
  min_tokens: (value) => value === 0,
  top_logprobs: (value) => value === 0,
};

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Reads the body of a request. @param served name of the model @throws ServeError naming the key */
export function readServedRequest(api: ServedApi, body: unknown, served: string): ServedRequest {
  if (api === 'chat') {
    const data = readBody(chatSchema, body);
    return {
      ...readSharedSettings(data, served),
      api,
      prompts: [{ kind: 'messages', messages: data.messages }],
      maxTokens: data.max_completion_tokens ?? data.max_tokens ?? null,
      logprobs: data.logprobs === true,
    };
  }
  const data = readBody(completionsSchema, body);
  if ((data.logprobs ?? 0) > 1) {
    throw new ServeError(400, 'logprobs: only chosen tokens have log-probabilities; give 0 or 1.', 'logprobs');
  }
  return {
    ...readSharedSettings(data, served),
    api,
    prompts: readPrompts(data.prompt, data.add_special_tokens),
    maxTokens: data.max_tokens ?? DEFAULT_COMPLETION,
    logprobs: typeof data.logprobs === 'number',
  };
}

function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) {
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const path = issue?.path.join('.') ?? '';
  const what = path === '' ? 'The body' : path;
  throw new ServeError(400, `${what}: ${issue?.message ?? 'is not valid'}.`, path === '' ? null : path);
}

/** Reads the settings that both APIs share. */
function readSharedSettings(
  data: z.output<z.ZodObject<typeof common>> & Readonly<Record<string, unknown>>,
  served: string,
): Omit<ServedRequest, 'api' | 'prompts' | 'maxTokens' | 'logprobs'> {
  if (typeof data.model === 'string' && data.model !== served) {
    throw new ServeError(
      404,
      `There is no model ${JSON.stringify(data.model.slice(0, 80))} here; this server has ${served}.`,
      'model',
    );
  }
  const refused = Object.entries(NOT_DONE).find(([key, asksNothing]) => {
    const value: unknown = data[key];
    return value !== undefined && value !== null && !asksNothing(value);
  });
  if (refused !== undefined) {
    throw new ServeError(400, `${refused[0]} is not supported by this server; omit it.`, refused[0]);
  }
  return {
    choices: data.n ?? 1,
    temperature: data.temperature ?? 1,
    topP: data.top_p ?? 1,
    topK: Math.max(0, data.top_k ?? 0),
    seed: data.seed ?? null,
    stop: data.stop ?? [],
    tokenIds: data.return_token_ids === true,
    stream: data.stream === true,
    streamUsage: data.stream_options?.include_usage === true,
  };
}

/** New tokens of a completion if the request gives no number, as in the protocol. */
const DEFAULT_COMPLETION = 16;

function readPrompts(
  given: z.output<typeof completionsSchema>['prompt'],
  special: boolean | null | undefined,
): readonly ServedPrompt[] {
  const text = (one: string): ServedPrompt => ({ kind: 'text', text: one, whole: special !== false });
  if (typeof given === 'string') {
    return [text(given)];
  }
  if (given.length > MOST.prompts && typeof given[0] !== 'number') {
    throw new ServeError(400, `prompt: has more than ${MOST.prompts} prompts; send several requests.`, 'prompt');
  }
  const numbers: number[] = [];
  const prompts: ServedPrompt[] = [];
  for (const one of given) {
    if (typeof one === 'number') {
      numbers.push(one);
    } else {
      prompts.push(typeof one === 'string' ? text(one) : { kind: 'ids', ids: one });
    }
  }
  return numbers.length > 0 ? [{ kind: 'ids', ids: numbers }] : prompts;
}
