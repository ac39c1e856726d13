/** What an endpoint answers, read as plain data. */
import { z } from 'zod';
import { messageOf } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { EndpointFailure, serverWords } from './failure.ts';

/** An answer as its parts came. */
export interface Reply {
  readonly text: string;
  /** How the server names the model that answered; null where it does not. */
  readonly model: string | null;
  readonly finish: 'end' | 'length';
  /** The server's ids of the answer's tokens; null where it gives none. */
  readonly tokens: readonly number[] | null;
  readonly promptTokens: readonly number[] | null;
  /** Of each token; null where it gives none. */
  readonly logprobs: readonly number[] | null;
  /** Null where the server does not say what it counted. */
  readonly usage: { readonly prompt: number; readonly completion: number } | null;
}

const ids = z.array(z.int().min(0)).nullish();
const toolCall = z.looseObject({
  index: z.int().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});
const said = z
  .looseObject({ content: z.string().nullish(), tool_calls: z.array(toolCall).max(128).nullish() })
  .nullish();
const choiceSchema = z.looseObject({
  index: z.int().nullish(),
  text: z.string().nullish(),
  message: said,
  delta: said,
  finish_reason: z.string().nullish(),
  token_ids: ids,
  prompt_token_ids: ids,
  logprobs: z
    .looseObject({
      content: z.array(z.looseObject({ logprob: z.number() })).nullish(),
      token_logprobs: z.array(z.number().nullable()).nullish(),
    })
    .nullish(),
});
const bodySchema = z.looseObject({
  model: z.string().max(500).nullish(),
  choices: z.array(choiceSchema).max(64).nullish(),
  prompt_token_ids: ids,
  usage: z.looseObject({ prompt_tokens: z.int().min(0), completion_tokens: z.int().min(0).nullish() }).nullish(),
  error: z.unknown().optional(),
});
const errorSchema = z.union([
  z.looseObject({ error: z.looseObject({ message: z.string() }) }).transform(({ error }) => error.message),
  z.looseObject({ error: z.string() }).transform(({ error }) => error),
  z.looseObject({ message: z.string() }).transform(({ message }) => message),
]);

/** What the body of a refusal says; its beginning where it has no known form. */
export function errorWords(text: string, key: string | null): string {
  try {
    const parsed = errorSchema.safeParse(JSON.parse(text));
    return serverWords(parsed.success ? parsed.data : text, key);
  } catch {
    return serverWords(text, key);
  }
}

/** Puts the parts of one answer together: one of a whole body, many of a stream. */
export class ReplyReader {
  private readonly api: EndpointApi;
  private readonly key: string | null;
  private text = '';
  private model: string | null = null;
  private finish: string | null = null;
  private tokens: number[] | null = null;
  private promptTokens: readonly number[] | null = null;
  private logprobs: number[] | null = null;
  private usage: Reply['usage'] = null;
  /** Tools that the answer calls. */
  private readonly calls = new Map<number, string>();

  constructor(api: EndpointApi, key: string | null) {
    this.api = api;
    this.key = key;
  }

  /** Adds a body. @throws EndpointFailure where it is none, or says that something failed */
  add(json: string): void {
    const parsed = bodySchema.safeParse(parse(json));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw malformed(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
    }
    const { choices, usage, error, model, prompt_token_ids: prompt } = parsed.data;
    if (error !== undefined && error !== null) {
      throw new EndpointFailure('again', `failed within its answer: ${errorWords(json, this.key)}`, { charged: true });
    }
    if (usage !== undefined && usage !== null) {
      this.usage = { prompt: usage.prompt_tokens, completion: usage.completion_tokens ?? 0 };
    }
    this.model ??= model ?? null;
    this.promptTokens ??= prompt ?? null;
    const choice = choices?.find(({ index }) => (index ?? 0) === 0);
    if (choice === undefined) {
      return;
    }
    const { text, message, delta, finish_reason: finish, token_ids: tokens, prompt_token_ids: own, logprobs } = choice;
    this.text += (this.api === 'chat' ? (message ?? delta)?.content : text) ?? '';
    for (const [at, { index: number, function: call }] of ((message ?? delta)?.tool_calls ?? []).entries()) {
      const key = number ?? at;
      const known = this.calls.get(key);
      const name = known === undefined ? `${call?.name ?? ''} ` : known;
      this.calls.set(key, `${name}${call?.arguments ?? ''}`);
    }
    this.finish = finish ?? this.finish;
    this.promptTokens ??= own ?? null;
    if (tokens !== undefined && tokens !== null) {
      this.tokens = [...(this.tokens ?? []), ...tokens];
    }
    const added = logprobs?.content?.map(({ logprob }) => logprob) ?? logprobs?.token_logprobs ?? null;
    if (added !== null) {
      this.logprobs = [...(this.logprobs ?? []), ...added.map((one) => one ?? 0)];
    }
  }

  /** Whether the answer has come to its end. */
  get ended(): boolean {
    return this.finish !== null;
  }

  /** The whole answer. @throws EndpointFailure where its end is missing, or it has none to give */
  end(): Reply {
    const { finish } = this;
    if (finish === null) {
      throw new EndpointFailure('again', 'ended its answer in the middle', { charged: true });
    }
    const calls = [...this.calls.values()].map((call) => call.trimEnd());
    if (!['stop', 'length', 'eos'].includes(finish) && !(finish === 'tool_calls' && calls.length > 0)) {
      throw new EndpointFailure('withheld', `gave no text: it ended with ${serverWords(finish, this.key)}`, {
        charged: true,
      });
    }
    const { model, tokens, logprobs, usage, promptTokens } = this;
    const fits = tokens !== null && logprobs !== null && tokens.length === logprobs.length;
    return {
      // A line for each tool that is called, as in what is imported.
      text: [this.text, ...calls].filter((part, index) => index > 0 || part !== '' || calls.length === 0).join('\n'),
      model,
      finish: finish === 'length' ? 'length' : 'end',
      tokens,
      promptTokens,
      // Those of other tokens than the ones that were named belong to nothing.
      logprobs: tokens === null || fits ? logprobs : null,
      usage,
    };
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw malformed(messageOf(error));
  }
}

const malformed = (why: string): EndpointFailure =>
  new EndpointFailure('again', `gave an answer that cannot be read (${serverWords(why, null)})`, { charged: true });
