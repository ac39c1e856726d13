/** The answer of a model server as one body, whether it came whole or in the pieces of a stream. */
import { isRecord } from '../shared/guard.ts';
import { ChoiceReader } from './choices.ts';
import { candidateOfPieces, messageOfEvents, responseOfEvents } from './eventStreams.ts';
import { listAtKey, parsedJson, textAt, type Fields } from './fields.ts';
import { tokensIn, type CountedTokens } from './usage.ts';

/** The forms of requests that say something of agents. */
export type RecordedApi = 'chat' | 'completions' | 'responses' | 'messages' | 'gemini' | 'ollama';

/** What ends a stream of OpenAI's forms, in the place of a body. */
export const STREAM_END = '[DONE]';

/** An error within an error. */
const MOST_DEPTH = 8;

/**
 * Whether what a server sends beside its answer says that something failed: some send an empty error with each.
 * @param value of the key `error`
 */
export function saysError(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') {
    return value.trim() !== '';
  }
  if (typeof value === 'object' && value !== null) {
    return depth < MOST_DEPTH && Object.values(value).some((one) => saysError(one, depth + 1));
  }
  return value !== undefined && value !== null && value !== false && value !== 0;
}

/** The choices of a body; that of Ollama is the body itself. */
const choicesOf = (api: RecordedApi, body: Fields): readonly unknown[] =>
  api === 'ollama'
    ? [
        {
          delta: body['message'],
          finish_reason: textAt(body, 'done_reason') ?? (body['done'] === true ? 'stop' : null),
        },
      ]
    : listAtKey(body, 'choices');

/** An answer as one body. */
export interface WholeAnswer {
  /** In the form of its protocol; one of choices has one, whose message is the answer. */
  readonly body: Fields;
  readonly tokens: CountedTokens;
  /** Answers to the same request beside it. */
  readonly further: number;
}

/**
 * The body of an answer.
 * @param answer the whole body, or the pieces of a stream in order
 * @returns null where it is none, or its end is missing
 * @throws RangeError for an answer that is larger than any is
 */
export function wholeAnswer(api: RecordedApi, answer: unknown): WholeAnswer | null {
  const isStream = Array.isArray(answer);
  const pieces: readonly unknown[] = isStream ? answer : [answer];
  const bodies = pieces.filter(isRecord);
  if (bodies.length === 0 || (isStream && bodies.some(({ error }) => saysError(error)))) {
    return null;
  }
  const closed = !isStream || pieces.includes(STREAM_END);
  if (api === 'chat' || api === 'completions' || api === 'ollama') {
    return choiceAnswer(api, bodies, closed);
  }
  const body = isStream ? OF_EVENTS[api](bodies, closed) : (bodies[0] ?? null);
  return body === null
    ? null
    : { body, tokens: tokensIn(body), further: Math.max(0, listAtKey(body, 'candidates').length - 1) };
}

const OF_EVENTS = { messages: messageOfEvents, responses: responseOfEvents, gemini: candidateOfPieces } as const;

function choiceAnswer(api: RecordedApi, bodies: readonly Fields[], closed: boolean): WholeAnswer | null {
  const reader = new ChoiceReader();
  const found = bodies.filter((body) => reader.add(choicesOf(api, body)) !== null);
  const { message, finish, further } = reader.choice;
  if (found.length === 0 || (finish === null && !closed)) {
    return null;
  }
  const model = bodies.map((body) => textAt(body, 'model')).find((name) => name !== null);
  const counted = bodies.map(tokensIn);
  const tokens = counted.findLast(({ prompt, completion }) => prompt !== null || completion !== null);
  return {
    body: { model, choices: [{ message, finish_reason: finish }] },
    tokens: tokens ?? { prompt: null, completion: null },
    further,
  };
}

/**
 * A body as text: one value of JSON, or several, one a line or one an event, as its pieces. Null where it is none, or
 * a text in quotes.
 */
export function bodyIn(text: string): unknown {
  const plain = text.trim();
  if (plain === STREAM_END) {
    return STREAM_END;
  }
  const value = parsedJson(text);
  if (typeof value !== 'string') {
    return value;
  }
  const isEvents = /^(?:data|event|id|retry)?:/u.test(plain);
  const lines = plain.split(/\r?\n/u).flatMap((line) => (isEvents ? dataOf(line) : line.trim() === '' ? [] : [line]));
  const pieces = lines.map((line) => (line.trim() === STREAM_END ? STREAM_END : parsedJson(line)));
  const isRead = pieces.every((piece) => isRecord(piece) || piece === STREAM_END);
  return (isEvents || pieces.length > 1) && isRead ? pieces : null;
}

/** What a line of an event says. */
function dataOf(line: string): readonly string[] {
  const data = /^data: ?(.*)$/u.exec(line)?.[1];
  return data === undefined || data === '' ? [] : [data];
}
