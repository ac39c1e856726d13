/** Answers requests of the protocol with choices. */

import type { Tokenizer } from '../../policy/tokenizer.ts';
import { checkRequest, type GenerationRequest } from '../../runtime/generate/generate.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { streamKey } from '../../runtime/random.ts';
import { combineSignals, throwIfAborted } from '../../shared/cancellation.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import type { PromptMessage } from '../../team/render.ts';
import { toChoice, FollowedChoice, type Choice, type Delta } from './choice.ts';
import { ServeError } from './serveError.ts';
import type { ServedPrompt, ServedRequest } from './serveRequest.ts';

/** Most new tokens of a chat answer if the request gives no number. */
const DEFAULT_CHAT = 2048;
/** Characters per position of the model above which a text is counted in pieces first. */
const LONG = 8;
/** Characters that are counted at once. */
const PIECE = 4096;
/** Most rows that are answered or wait, and seconds after which a refused client may try again. */
const MOST_ROWS = 2048;
const RETRY_AFTER = 1;

export interface ServedModel {
  /** Name in requests. */
  readonly name: string;
  readonly config: TransformerConfig;
  readonly tokenizer: Tokenizer;
  /** Renders a conversation for the model. */
  readonly chat: (messages: readonly PromptMessage[]) => string | Promise<string>;
  readonly snapshot: string;
  readonly runtime: Pick<ModelRuntime, 'generate'>;
  readonly openRows: OpenRows;
}

/** Counts the rows that are being answered. Too many are refused, because each keeps its prompt. */
export class OpenRows {
  private count = 0;

  /** Counts the rows of a request until it is answered. @throws ServeError if there are too many */
  async hold<Result>(rows: number, answer: () => Promise<Result>): Promise<Result> {
    if (this.count + rows > MOST_ROWS) {
      throw new ServeError(
        429,
        `More than ${MOST_ROWS} answers are waiting already; ask again later.`,
        null,
        RETRY_AFTER,
      );
    }
    this.count += rows;
    try {
      return await answer();
    } finally {
      this.count -= rows;
    }
  }
}

export interface Answered {
  /** Choices in the order of the protocol: by prompt, then by choice. */
  readonly choices: readonly Choice[];
  readonly prompts: readonly Int32Array[];
}

/**
 * Answers a request. A choice depends only on its prompt, the settings, the seed and its number.
 * @param seed the request's own seed, or one that was drawn for it
 * @param onDelta receives the final parts of each choice
 * @throws ServeError; CancelledError
 */
export async function answerServed(
  model: ServedModel,
  request: ServedRequest,
  seed: number,
  signal: AbortSignal,
  onDelta: ((index: number, delta: Delta) => void) | null = null,
): Promise<Answered> {
  const prompts = await Promise.all(request.prompts.map((prompt) => encodePrompt(model, prompt, signal)));
  const rows = prompts.map((prompt) => createRows(model, request, prompt, seed)).flat();
  const choices = await model.openRows.hold(rows.length, () =>
    Promise.all(
      rows.map((row, index) =>
        answerRow(model, row, request.stop, signal, onDelta === null ? null : (delta) => onDelta(index, delta)),
      ),
    ),
  );
  return { choices, prompts };
}

async function encodePrompt(
  { config, tokenizer, chat }: ServedModel,
  prompt: ServedPrompt,
  signal: AbortSignal,
): Promise<Int32Array> {
  try {
    switch (prompt.kind) {
      case 'ids':
        return Int32Array.from(prompt.ids);
      case 'text':
        await requireShort(tokenizer, prompt.text, config.maxPositions, signal);
        return await (prompt.whole ? tokenizer.encodeWhole(prompt.text) : tokenizer.encode(prompt.text));
      case 'messages': {
        const text = await chat(prompt.messages);
        await requireShort(tokenizer, text, config.maxPositions, signal);
        return await tokenizer.encode(text);
      }
    }
  } catch (error) {
    if (error instanceof CancelledError || !(error instanceof C3Error)) {
      throw error;
    }
    throw new ServeError(400, toErrorMessage(error), prompt.kind === 'messages' ? 'messages' : 'prompt');
  }
}

/**
 * Counts the tokens of a long text piece by piece, because a tokenizer needs minutes for a text of
 * megabytes. At the boundary of two pieces there may be one token more than in the whole text.
 * @throws C3Error('input') as soon as there are too many tokens; CancelledError
 */
export async function requireShort(
  tokenizer: Pick<Tokenizer, 'encode'>,
  text: string,
  most: number,
  signal: AbortSignal,
): Promise<void> {
  if (text.length <= LONG * most) {
    return;
  }
  let counted = 0;
  for (let from = 0; from < text.length; from += PIECE) {
    throwIfAborted(signal);
    counted += (await tokenizer.encode(text.slice(from, from + PIECE))).length - 1;
    if (counted > most) {
      throw new C3Error(
        'input',
        `The request has more than ${most} tokens in its first ${from + PIECE} of ${text.length} characters, and the model has ${most} positions; shorten it.`,
      );
    }
  }
}

function createRows(
  { config, tokenizer }: ServedModel,
  { api, choices, maxTokens, temperature, topP, topK, stop, stream }: ServedRequest,
  prompt: Int32Array,
  seed: number,
): GenerationRequest[] {
  const room = Math.max(1, config.maxPositions - prompt.length);
  const maxNewTokens = maxTokens ?? Math.min(DEFAULT_CHAT, room);
  try {
    checkRequest(config, { prompt, maxNewTokens }, 'The request');
  } catch (error) {
    throw new ServeError(400, toErrorMessage(error), api === 'chat' ? 'messages' : 'prompt');
  }
  const { endToken, otherEndTokens } = tokenizer;
  return Array.from({ length: choices }, (_, sibling) => ({
    prompt,
    maxNewTokens,
    endToken,
    otherEndTokens,
    temperature,
    topP,
    topK,
    streamKey: streamKey({ seed, scope: 'serve', uidSha: '', role: '', turn: 0, sibling }),
    followed: stream || stop.length > 0,
  }));
}

async function answerRow(
  { tokenizer, runtime, snapshot }: ServedModel,
  row: GenerationRequest,
  stops: readonly string[],
  signal: AbortSignal,
  onDelta: ((delta: Delta) => void) | null,
): Promise<Choice> {
  const stopping = new AbortController();
  const followed = new FollowedChoice(tokenizer, stops, onDelta, () => stopping.abort());
  const promptTokens = row.prompt.length;
  const completion = await runtime
    .generate(snapshot, [row], {
      signal: combineSignals(signal, stopping.signal),
      onToken: (_, token, logprob) => followed.push(token, logprob),
    })
    .then(([own]) => own)
    .catch((error: unknown) => {
      const stopped = signal.aborted ? null : followed.stoppedAt(promptTokens);
      if (stopped === null) {
        throw error;
      }
      return stopped;
    });
  if (completion === undefined) {
    throw new Error('The runtime answered no row.');
  }
  const choice = await toChoice(tokenizer, completion, stops);
  await followed.end(choice);
  return choice;
}
