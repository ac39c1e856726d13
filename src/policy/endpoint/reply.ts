/** Reads an endpoint's answer as plain data. */

import { z } from 'zod';
import { ChoiceReader, withoutReasoning } from '../../chat/choices.ts';
import { listAtKey, textAt, type Fields } from '../../chat/fields.ts';
import { toFinish } from '../../chat/finish.ts';
import { joinAnswerPieces, parseMessages } from '../../chat/messages.ts';
import { parseBody, saysError, STREAM_END } from '../../chat/streams.ts';
import { readTokens } from '../../chat/usage.ts';
import { toErrorMessage } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { EndpointFailure, quoteServer } from './failure.ts';

/** A complete answer. */
export interface Reply {
  readonly text: string;
  /** The server's name for the model that answered, or null. */
  readonly model: string | null;
  readonly finish: 'end' | 'length';
  /** The server's ids of the answer's tokens, or null if it gives none. */
  readonly tokens: readonly number[] | null;
  readonly promptTokens: readonly number[] | null;
  /** The log-probability of each token, or null if the server gives none. */
  readonly logprobs: readonly number[] | null;
  /** The server's token counts, or null. */
  readonly usage: { readonly prompt: number; readonly completion: number } | null;
}

const errorSchema = z.union([
  z.looseObject({ error: z.looseObject({ message: z.string() }) }).transform(({ error }) => error.message),
  z.looseObject({ error: z.string() }).transform(({ error }) => error),
  z.looseObject({ message: z.string() }).transform(({ message }) => message),
]);

/** Returns the message in the body of a refusal, or the beginning of a body of unknown form. */
export function readErrorMessage(text: string, key: string | null): string {
  try {
    const parsed = errorSchema.safeParse(JSON.parse(text));
    return quoteServer(parsed.success ? parsed.data : text, key);
  } catch {
    return quoteServer(text, key);
  }
}

/** The most characters of a model's name. */
const LONGEST_MODEL = 500;
/** Finish reasons, in lower case, with which an answer may be empty. */
const ENDS: ReadonlySet<string> = new Set([
  'stop',
  'end',
  'end_turn',
  'stop_sequence',
  'stop_token',
  'eos',
  'eos_token',
  'complete',
  'completed',
  'done',
  'finish',
  'finished',
]);
/** Finish reasons, in lower case, of answers that did not reach their end. */
const FAILURES: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'aborted',
  'cancelled',
  'canceled',
  'insufficient_system_resource',
  'network_error',
]);
/** A placeholder for a log-probability that is missing or too small. */
const NO_LOGPROB = -9999;

/** Joins the parts of one answer: a whole body, or the pieces of a stream. */
export class ReplyReader {
  private readonly key: string | null;
  private readonly reader = new ChoiceReader();
  private model: string | null = null;
  /** True if all of it came, whatever its finish reason. */
  private closed = false;
  private readonly tokens = new Numbers();
  private promptTokens: readonly number[] | null = null;
  private readonly logprobs = new Numbers();
  private usage: Reply['usage'] = null;

  /** @param key that the server may repeat in its messages, or null */
  constructor(key: string | null) {
    this.key = key;
  }

  /**
   * Adds the data of an event of a stream: a body, or the mark of its end.
   * @returns true if more may follow
   * @throws EndpointFailure if it is neither, or reports a failure
   */
  add(event: string): boolean {
    if (event.trim() === STREAM_END) {
      this.closed = true;
    } else if (event.trim() !== '') {
      this.addBody(parse(event));
    }
    return !this.closed;
  }

  /**
   * Adds a whole answer: a body, or a complete stream without a content type.
   * @throws EndpointFailure as `add` does
   */
  addWhole(text: string): void {
    const value = parseBody(text);
    if (!Array.isArray(value)) {
      this.addBody(value ?? parse(text));
      this.closed = true;
      return;
    }
    const pieces: readonly unknown[] = value;
    if (pieces.length === 0) {
      throw malformed('it has no events');
    }
    for (const piece of pieces) {
      if (piece === STREAM_END) {
        this.closed = true;
        return;
      }
      this.addBody(piece);
    }
  }

  /**
   * Returns the whole answer.
   * @throws EndpointFailure if its end is missing, or the server gives no answer
   */
  end(): Reply {
    const { message, finish } = this.reader.choice;
    const word = finish?.toLowerCase() ?? null;
    const text = runReadable(() => readMessageText(withoutReasoning(message)) || readMessageText(message));
    if (word === null && (!this.closed || text === '')) {
      throw new EndpointFailure('again', 'ended its answer in the middle', { charged: true });
    }
    const words = quoteServer(finish ?? '', this.key);
    if (word !== null && FAILURES.has(word)) {
      throw new EndpointFailure('again', `failed within its answer: it ended with ${words}`, { charged: true });
    }
    if (text === '' && word !== null && !ENDS.has(word) && toFinish(word) !== 'length') {
      throw new EndpointFailure('withheld', `gave no text: it ended with ${words}`, { charged: true });
    }
    const { model, usage, promptTokens } = this;
    const [tokens, logprobs] = [this.tokens.all, this.logprobs.all];
    const fits = tokens !== null && logprobs !== null && tokens.length === logprobs.length;
    return {
      text,
      model,
      finish: toFinish(word),
      tokens,
      promptTokens,
      // Log-probabilities without matching tokens are dropped.
      logprobs: tokens === null || fits ? logprobs : null,
      usage,
    };
  }

  private addBody(body: unknown): void {
    if (!isRecord(body)) {
      throw malformed('it is no object');
    }
    const { choices, error } = body;
    if (saysError(error) || body['object'] === 'error') {
      throw this.failed(body);
    }
    if (choices !== undefined && choices !== null && !Array.isArray(choices)) {
      throw malformed('choices: it is no list');
    }
    const { prompt, completion } = readTokens(body);
    if (prompt !== null && completion !== null) {
      this.usage = { prompt, completion };
    }
    this.model ??= textAt(body, 'model')?.slice(0, LONGEST_MODEL) ?? null;
    const choice = runReadable(() => this.reader.add(listAtKey(body, 'choices')));
    this.promptTokens ??= readTokenIds(body['prompt_token_ids']) ?? readTokenIds(choice?.['prompt_token_ids']);
    if (choice === null) {
      return;
    }
    if (saysError(choice['error'])) {
      throw this.failed(choice);
    }
    this.tokens.add(toList(choice['token_ids']), isId);
    this.logprobs.add(readLogprobs(choice['logprobs']), isLogprob);
  }

  private failed(body: Fields): EndpointFailure {
    const words = readErrorMessage(JSON.stringify(body), this.key);
    return new EndpointFailure('again', `failed within its answer: ${words}`, { charged: true });
  }
}

/** Collects numbers that come in pieces. There are none if one of them is invalid. */
class Numbers {
  private readonly found: number[] = [];
  private state: 'none' | 'some' | 'broken' = 'none';

  /** @param values null for none */
  add(values: readonly unknown[] | null, isOne: (value: unknown) => value is number): void {
    if (values === null || this.state === 'broken') {
      return;
    }
    this.state = 'some';
    for (const value of values) {
      if (!isOne(value)) {
        this.state = 'broken';
        return;
      }
      this.found.push(value);
    }
  }

  get all(): readonly number[] | null {
    return this.state === 'some' ? this.found : null;
  }
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isLogprob = (value: unknown): value is number => typeof value === 'number' && value > NO_LOGPROB && value <= 0;

/** Returns a list, or null for none. A value of another kind becomes a list with an invalid item. */
const toList = (value: unknown): readonly unknown[] | null =>
  Array.isArray(value) ? value : value === undefined || value === null ? null : [value];

const readTokenIds = (value: unknown): readonly number[] | null =>
  Array.isArray(value) && value.every((one) => isId(one)) ? value : null;

/** Returns the log-probabilities of the tokens, in the form of chats or of completions, or null. */
function readLogprobs(value: unknown): readonly unknown[] | null {
  if (!isRecord(value)) {
    return null;
  }
  const { content, token_logprobs: plain } = value;
  return Array.isArray(content)
    ? content.map((one: unknown) => (isRecord(one) ? one['logprob'] : null))
    : Array.isArray(plain)
      ? plain
      : null;
}

/** Returns the text of a message with a line for each tool call, as in imported messages. */
const readMessageText = (message: Fields): string => joinAnswerPieces(parseMessages([message])).said?.text ?? '';

/**
 * Runs some work on an answer.
 * @throws EndpointFailure if the answer exceeds a limit
 */
function runReadable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RangeError ? malformed(error.message) : error;
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw malformed(toErrorMessage(error));
  }
}

const malformed = (why: string): EndpointFailure =>
  new EndpointFailure('again', `gave an answer that cannot be read (${quoteServer(why, null)})`, { charged: true });
