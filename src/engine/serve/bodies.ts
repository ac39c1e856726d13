/** Formats answers as bodies of the OpenAI-compatible protocol, whole or in pieces. */

import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { Answered } from './answering.ts';
import type { Choice, Delta } from './choice.ts';
import type { ServedRequest } from './serveRequest.ts';

/** The fields that all bodies of one answer share. */
export interface BodyHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  /** Identifies weights and numeric environment. Equal fingerprints give equal answers to one seed. */
  readonly fingerprint: string;
  /** Seed with which the request gets the same answer again. */
  readonly seed: number;
}

const toBodyHead = ({ id, created, model, fingerprint, seed }: BodyHead, object: string): object => ({
  id,
  object,
  created,
  model,
  system_fingerprint: fingerprint,
  seed,
});

/** Counts the tokens. A prompt counts once for all of its choices. */
export const countUsage = ({ choices, prompts }: Answered): object => {
  const prompt = prompts.reduce((total, { length }) => total + length, 0);
  const completion = choices.reduce((total, { tokens }) => total + tokens.length, 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
};

/** Returns the body of a whole answer. */
export async function createWholeBody(
  tokenizer: Tokenizer,
  request: ServedRequest,
  head: BodyHead,
  answered: Answered,
): Promise<object> {
  const { api, tokenIds, choices: count } = request;
  const chat = api === 'chat';
  const choices = await Promise.all(
    answered.choices.map(async (choice, index) => ({
      index,
      ...(chat ? { message: { role: 'assistant', content: choice.text } } : { text: choice.text }),
      finish_reason: choice.finish,
      logprobs: await formatLogprobs(tokenizer, request, choice),
      ...(tokenIds && {
        token_ids: choice.tokens,
        ...(!chat && { prompt_token_ids: [...(answered.prompts[Math.floor(index / count)] ?? [])] }),
      }),
    })),
  );
  return {
    ...toBodyHead(head, chat ? 'chat.completion' : 'text_completion'),
    choices,
    usage: countUsage(answered),
    ...(tokenIds && chat && { prompt_token_ids: [...(answered.prompts[0] ?? [])] }),
  };
}

/** Returns the body of a piece of one choice. @param finish null while more pieces follow */
export async function createPieceBody(
  tokenizer: Tokenizer,
  request: ServedRequest,
  head: BodyHead,
  index: number,
  delta: Delta,
  finish: Choice['finish'] | null,
): Promise<object> {
  const chat = request.api === 'chat';
  return {
    ...toBodyHead(head, chat ? 'chat.completion.chunk' : 'text_completion'),
    choices: [
      {
        index,
        ...(chat
          ? { delta: delta.text === '' && finish !== null ? {} : { role: 'assistant', content: delta.text } }
          : { text: delta.text }),
        finish_reason: finish,
        logprobs: await formatLogprobs(tokenizer, request, delta),
        ...(request.tokenIds && { token_ids: delta.tokens }),
      },
    ],
  };
}

/** Returns the last piece of a stream, with the counts of tokens, which is sent on request. */
export const createUsageBody = ({ api }: ServedRequest, head: BodyHead, answered: Answered): object => ({
  ...toBodyHead(head, api === 'chat' ? 'chat.completion.chunk' : 'text_completion'),
  choices: [],
  usage: countUsage(answered),
});

async function formatLogprobs(
  tokenizer: Tokenizer,
  { api, logprobs: wanted }: ServedRequest,
  { tokens, logprobs }: Pick<Delta, 'tokens' | 'logprobs'>,
): Promise<object | null> {
  if (!wanted) {
    return null;
  }
  const pieces = await tokenizer.pieces(Int32Array.from(tokens));
  const of = (index: number): number => logprobs[index] ?? 0;
  if (api === 'chat') {
    return {
      content: pieces.map((token, index) => ({
        token,
        logprob: of(index),
        bytes: [...Buffer.from(token, 'utf8')],
        top_logprobs: [],
      })),
    };
  }
  const ends = pieces.reduce<number[]>((places, { length }) => [...places, (places.at(-1) ?? 0) + length], []);
  return {
    tokens: pieces,
    token_logprobs: pieces.map((_, index) => of(index)),
    top_logprobs: null,
    text_offset: pieces.map((_, index) => ends[index - 1] ?? 0),
  };
}
