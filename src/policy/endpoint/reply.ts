/** What an endpoint answers, read as plain data. */
import { z } from 'zod';
import { ChoiceReader, withoutReasoning } from '../../chat/choices.ts';
import { listAtKey, textAt, type Fields } from '../../chat/fields.ts';
import { finishOf } from '../../chat/finish.ts';
import { answerOf, parsedMessages } from '../../chat/messages.ts';
import { bodyIn, saysError, STREAM_END } from '../../chat/streams.ts';
import { tokensIn } from '../../chat/usage.ts';
import { messageOf } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
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

/** Characters of a model's name. */
const LONGEST_MODEL = 500;
/** Words, in lower case, with which an answer ends that may be empty. */
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
/** Words, in lower case, with which a server says that it did not come to the end. */
const FAILURES: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'aborted',
  'cancelled',
  'canceled',
  'insufficient_system_resource',
  'network_error',
]);
/** In the place of a log-probability it says that there is none, or that it is too small to be given. */
const NO_LOGPROB = -9999;

/** Puts the parts of one answer together: one of a whole body, many of a stream. */
export class ReplyReader {
  private readonly key: string | null;
  private readonly reader = new ChoiceReader();
  private model: string | null = null;
  /** Whether all of it came, whatever it says of its end. */
  private closed = false;
  private readonly tokens = new Numbers();
  private promptTokens: readonly number[] | null = null;
  private readonly logprobs = new Numbers();
  private usage: Reply['usage'] = null;

  /** @param key that the server may repeat in its words; null where it was given none */
  constructor(key: string | null) {
    this.key = key;
  }

  /**
   * Adds the data of an event of a stream: a body, or the mark of its end.
   * @returns whether more may follow
   * @throws EndpointFailure where it is neither, or says that something failed
   */
  add(event: string): boolean {
    if (event.trim() === STREAM_END) {
      this.closed = true;
    } else if (event.trim() !== '') {
      this.addBody(parse(event));
    }
    return !this.closed;
  }

  /** Adds a whole answer: a body, or all of a stream whose type is not said. @throws EndpointFailure as add */
  addWhole(text: string): void {
    const value = bodyIn(text);
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

  /** The whole answer. @throws EndpointFailure where its end is missing, or it has none to give */
  end(): Reply {
    const { message, finish } = this.reader.choice;
    const word = finish?.toLowerCase() ?? null;
    const text = readable(() => textOf(withoutReasoning(message)) || textOf(message));
    if (word === null && (!this.closed || text === '')) {
      throw new EndpointFailure('again', 'ended its answer in the middle', { charged: true });
    }
    const words = serverWords(finish ?? '', this.key);
    if (word !== null && FAILURES.has(word)) {
      throw new EndpointFailure('again', `failed within its answer: it ended with ${words}`, { charged: true });
    }
    if (text === '' && word !== null && !ENDS.has(word) && finishOf(word) !== 'length') {
      throw new EndpointFailure('withheld', `gave no text: it ended with ${words}`, { charged: true });
    }
    const { model, usage, promptTokens } = this;
    const [tokens, logprobs] = [this.tokens.all, this.logprobs.all];
    const fits = tokens !== null && logprobs !== null && tokens.length === logprobs.length;
    return {
      text,
      model,
      finish: finishOf(word),
      tokens,
      promptTokens,
      // Those of other tokens than the ones that were named belong to nothing.
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
    const { prompt, completion } = tokensIn(body);
    if (prompt !== null && completion !== null) {
      this.usage = { prompt, completion };
    }
    this.model ??= textAt(body, 'model')?.slice(0, LONGEST_MODEL) ?? null;
    const choice = readable(() => this.reader.add(listAtKey(body, 'choices')));
    this.promptTokens ??= idsIn(body['prompt_token_ids']) ?? idsIn(choice?.['prompt_token_ids']);
    if (choice === null) {
      return;
    }
    if (saysError(choice['error'])) {
      throw this.failed(choice);
    }
    this.tokens.add(listOf(choice['token_ids']), isId);
    this.logprobs.add(logprobsIn(choice['logprobs']), isLogprob);
  }

  private failed(body: Fields): EndpointFailure {
    const words = errorWords(JSON.stringify(body), this.key);
    return new EndpointFailure('again', `failed within its answer: ${words}`, { charged: true });
  }
}

/** Numbers that come in pieces; none where one of them is no number of its kind. */
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

/** A list; null for none. A value of another kind is a list with a value of another kind. */
const listOf = (value: unknown): readonly unknown[] | null =>
  Array.isArray(value) ? value : value === undefined || value === null ? null : [value];

const idsIn = (value: unknown): readonly number[] | null =>
  Array.isArray(value) && value.every((one) => isId(one)) ? value : null;

/** What stands in the place of each token's log-probability, in the form of chats or of completions; null for none. */
function logprobsIn(value: unknown): readonly unknown[] | null {
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

/** What a message says, with a line for each tool that it calls, as in what is imported. */
const textOf = (message: Fields): string => answerOf(parsedMessages([message])).said?.text ?? '';

/** The result of some work on an answer. @throws EndpointFailure where the answer is larger than any is */
function readable<T>(work: () => T): T {
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
    throw malformed(messageOf(error));
  }
}

const malformed = (why: string): EndpointFailure =>
  new EndpointFailure('again', `gave an answer that cannot be read (${serverWords(why, null)})`, { charged: true });
