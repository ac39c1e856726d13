/** Reads a model server's answer as one body, from a whole body or the pieces of a stream. */

import { isRecord } from '../shared/guard.ts';
import { ChoiceReader } from './choices.ts';
import { buildCandidate, buildMessage, buildResponse } from './eventStreams.ts';
import { listAtKey, parseIfJson, textAt, type Fields } from './fields.ts';
import { readTokens, type CountedTokens } from './usage.ts';

/** The APIs whose requests are model calls. */
export type RecordedApi = 'chat' | 'completions' | 'responses' | 'messages' | 'gemini' | 'ollama';

/** The data that ends a stream of OpenAI's forms. */
export const STREAM_END = '[DONE]';

/** The most levels of nested errors. */
const MOST_DEPTH = 8;

/**
 * Returns true if an error field reports a failure. Some servers send an empty error with each
 * answer.
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

/** Returns the choices of a body. The body of Ollama is itself a choice. */
const readBodyChoices = (api: RecordedApi, body: Fields): readonly unknown[] =>
  api === 'ollama'
    ? [
        {
          delta: body['message'],
          finish_reason: textAt(body, 'done_reason') ?? (body['done'] === true ? 'stop' : null),
        },
      ]
    : listAtKey(body, 'choices');

export interface WholeAnswer {
  /** The body in the form of its API. With choices, it has one, whose message is the answer. */
  readonly body: Fields;
  readonly tokens: CountedTokens;
  /** The number of further answers to the same request. */
  readonly further: number;
}

/**
 * Returns the body of an answer.
 * @param answer the whole body, or the pieces of a stream in order
 * @returns null if it is not an answer, or its end is missing
 * @throws RangeError if the answer exceeds a limit
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
  const body = isStream ? BODY_BUILDERS[api](bodies, closed) : (bodies[0] ?? null);
  return body === null
    ? null
    : { body, tokens: readTokens(body), further: Math.max(0, listAtKey(body, 'candidates').length - 1) };
}

const BODY_BUILDERS = { messages: buildMessage, responses: buildResponse, gemini: buildCandidate } as const;

function choiceAnswer(api: RecordedApi, bodies: readonly Fields[], closed: boolean): WholeAnswer | null {
  const reader = new ChoiceReader();
  const found = bodies.filter((body) => reader.add(readBodyChoices(api, body)) !== null);
  const { message, finish, further } = reader.choice;
  if (found.length === 0 || (finish === null && !closed)) {
    return null;
  }
  const model = bodies.map((body) => textAt(body, 'model')).find((name) => name !== null);
  const counted = bodies.map(readTokens);
  const tokens = counted.findLast(({ prompt, completion }) => prompt !== null || completion !== null);
  return {
    body: { model, choices: [{ message, finish_reason: finish }] },
    tokens: tokens ?? { prompt: null, completion: null },
    further,
  };
}

/**
 * Parses a body: one JSON value, or several as lines or events, which are returned as pieces.
 * Returns null for other texts and for a JSON string.
 */
export function parseBody(text: string): unknown {
  const plain = text.trim();
  if (plain === STREAM_END) {
    return STREAM_END;
  }
  const value = parseIfJson(text);
  if (typeof value !== 'string') {
    return value;
  }
  const isEvents = /^(?:data|event|id|retry)?:/u.test(plain);
  const lines = plain
    .split(/\r?\n/u)
    .flatMap((line) => (isEvents ? readEventData(line) : line.trim() === '' ? [] : [line]));
  const pieces = lines.map((line) => (line.trim() === STREAM_END ? STREAM_END : parseIfJson(line)));
  const isRead = pieces.every((piece) => isRecord(piece) || piece === STREAM_END);
  return (isEvents || pieces.length > 1) && isRead ? pieces : null;
}

/** Returns the data of a line of an event. */
function readEventData(line: string): readonly string[] {
  const data = /^data: ?(.*)$/u.exec(line)?.[1];
  return data === undefined || data === '' ? [] : [data];
}
