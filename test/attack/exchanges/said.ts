/** Answers of model servers as bytes of named classes, and what may go wrong with them at any byte. */

import { gzipSync } from 'node:zlib';
import type { RecordedApi } from '../../../src/chat/apiCalls.ts';
import { isRecord } from '../../../src/shared/guard.ts';
import type { HashedStream } from '../../../src/tasks/hashedStream.ts';

export const APIS = ['chat', 'completions', 'responses', 'messages'] as const satisfies readonly RecordedApi[];
export type Api = (typeof APIS)[number];
export const PATHS: Readonly<Record<Api, string>> = {
  chat: '/chat/completions',
  completions: '/completions',
  responses: '/responses',
  messages: '/messages',
};

/** What a byte of a message is. */
export const CLASSES = ['first line', 'header', 'chunk size', 'event', 'json', 'text', 'gzip'] as const;
export type ByteClass = (typeof CLASSES)[number];
export type Bytes = readonly (readonly [ByteClass, Buffer])[];

/** What happens at a byte. After garbage and a flood the rest follows; after a stall nothing does. */
export const DEEDS = ['reset', 'cut', 'garbage', 'flood', 'stall'] as const;
export type Deed = (typeof DEEDS)[number];
export interface Fault {
  readonly deed: Deed;
  readonly at: ByteClass;
}

/** The text of an exchange, with characters of two, three and four bytes, quotes and lines. */
export const textOf = (number: number, stream: HashedStream): string =>
  `planted-${number}. ${Array.from({ length: stream.integer(1, 12) }, () =>
    stream.pick(['word', 'zwölf', '日本語', '🙂🧵', '"said"', 'a\nline', '\\u0041', '{}', 'data: x']),
  ).join(' ')} end-${number}`;

export const json = (value: unknown): Bytes => {
  const text = JSON.stringify(value);
  const at = text.search(/planted-/u);
  const end = at < 0 ? at : text.search(/ end-\d+/u);
  const parts = at < 0 || end < 0 ? [text] : [text.slice(0, at), text.slice(at, end), text.slice(end)];
  return parts.map((part, index) => [index === 1 ? 'text' : 'json', Buffer.from(part)] as const);
};
const event = (value: unknown, name?: string): Bytes => [
  ['event', Buffer.from(name === undefined ? 'data: ' : `event: ${name}\ndata: `)],
  ...json(value),
  ['event', Buffer.from('\n\n')],
];
const DONE: Bytes = [['event', Buffer.from('data: [DONE]\n\n')]];

/** A text in two pieces of whole characters. */
function halves(text: string): readonly [string, string] {
  const points = Array.from(text);
  const half = Math.floor(points.length / 2);
  return [points.slice(0, half).join(''), points.slice(half).join('')];
}

const WHOLE: Readonly<Record<Api, (text: string) => unknown>> = {
  chat: (content) => ({
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  }),
  completions: (text) => ({ model: 'm', choices: [{ index: 0, text, finish_reason: 'stop' }] }),
  responses: (text) => ({
    id: 'resp_1',
    model: 'm',
    status: 'completed',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
  }),
  messages: (text) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
  }),
};

/** The first piece holds the mark of the exchange, so that a part of a text is known too. */
const STREAMED: Readonly<Record<Api, (first: string, second: string) => Bytes>> = {
  chat: (first, second) => [
    ...event({ model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: first } }] }),
    ...event({ model: 'm', choices: [{ index: 0, delta: { content: second } }] }),
    ...event({ model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    ...DONE,
  ],
  completions: (first, second) => [
    ...event({ model: 'm', choices: [{ index: 0, text: first }] }),
    ...event({ model: 'm', choices: [{ index: 0, text: second, finish_reason: 'stop' }] }),
    ...DONE,
  ],
  responses: (first, second) => [
    ...event({ type: 'response.created', response: { id: 'resp_1', model: 'm', output: [] } }, 'response.created'),
    ...event(
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', role: 'assistant', content: [] },
      },
      'response.output_item.added',
    ),
    ...[first, second].flatMap((delta) =>
      event(
        { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta },
        'response.output_text.delta',
      ),
    ),
    ...event({ type: 'response.completed', response: WHOLE.responses(first + second) }, 'response.completed'),
  ],
  messages: (first, second) => [
    ...event(
      { type: 'message_start', message: { id: 'msg_1', role: 'assistant', model: 'm', content: [] } },
      'message_start',
    ),
    ...event(
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      'content_block_start',
    ),
    ...[first, second].flatMap((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }, 'content_block_delta'),
    ),
    ...event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
    ...event({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, 'message_delta'),
    ...event({ type: 'message_stop' }, 'message_stop'),
  ],
};

const FRAMINGS = ['length', 'chunks', 'close'] as const;
/** How an answer is sent. */
export interface AnswerForm {
  readonly api: Api;
  readonly isStream: boolean;
  readonly isPacked: boolean;
  readonly framing: (typeof FRAMINGS)[number];
}
export const answerForm = (api: Api, stream: HashedStream): AnswerForm => ({
  api,
  isStream: stream.chance(0.5),
  isPacked: stream.chance(0.2),
  framing: stream.pick(FRAMINGS.map((framing) => ({ framing }))).framing,
});

const joined = (bytes: Bytes): Buffer => Buffer.concat(bytes.map(([, piece]) => piece));

/** The bytes of a whole answer. */
export function answerBytes({ api, isStream, isPacked, framing }: AnswerForm, text: string): Bytes {
  const said = isStream ? STREAMED[api](...halves(text)) : json(WHOLE[api](text));
  const body: Bytes = isPacked ? [['gzip', gzipSync(joined(said))]] : said;
  const length = joined(body).length;
  const headers = [
    `Content-Type: ${isStream ? 'text/event-stream' : 'application/json'}`,
    ...(isPacked ? ['Content-Encoding: gzip'] : []),
    framing === 'length'
      ? `Content-Length: ${length}`
      : framing === 'chunks'
        ? 'Transfer-Encoding: chunked'
        : 'Connection: close',
  ];
  return [
    ['first line', Buffer.from('HTTP/1.1 200 OK\r\n')],
    ['header', Buffer.from(`${headers.join('\r\n')}\r\n\r\n`)],
    ...(framing === 'chunks' ? chunked(body) : body),
  ];
}

/** What a body is. */
export interface BodyType {
  readonly type: string;
  readonly encoding?: string;
}

/** The bytes of a request of one connection. */
export function requestBytes(
  { host, pathname }: URL,
  { type, encoding }: BodyType,
  body: Bytes,
  isChunked: boolean,
): Bytes {
  const headers = [
    `Host: ${host}`,
    `Content-Type: ${type}`,
    ...(encoding === undefined ? [] : [`Content-Encoding: ${encoding}`]),
    isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${joined(body).length}`,
    'Connection: close',
  ];
  return [
    ['first line', Buffer.from(`POST ${pathname} HTTP/1.1\r\n`)],
    ['header', Buffer.from(`${headers.join('\r\n')}\r\n\r\n`)],
    ...(isChunked ? chunked(body) : body),
  ];
}

const chunked = (body: Bytes): Bytes => [
  ...body.flatMap(([kind, piece]): Bytes => [
    ['chunk size', Buffer.from(`${piece.length.toString(16)}\r\n`)],
    [kind, piece],
    ['chunk size', Buffer.from('\r\n')],
  ]),
  ['chunk size', Buffer.from('0\r\n\r\n')],
];

/** A fault at a class of bytes that a message has. */
export function faultIn(bytes: Bytes, stream: HashedStream): Fault {
  const classes = CLASSES.filter((kind) => bytes.some(([of]) => of === kind));
  const at = stream.pick(classes.map((kind) => ({ kind }))).kind;
  return { at, deed: stream.pick(DEEDS.map((deed) => ({ deed }))).deed };
}

const UNITS = [
  '\0',
  ' ',
  '\n',
  '\r\n',
  '0',
  'f',
  'a',
  '{',
  '[',
  '"',
  'data: \n\n',
  ': ping\n',
  'X-More: y\r\n',
  '\ud83d',
];

/** What is sent instead of a message: its pieces, and how its connection goes on. */
export interface Sent {
  readonly pieces: readonly Buffer[];
  readonly then: 'stay' | 'end' | 'reset' | 'stall';
}

/** @param fault null for none @param most bytes of a flood */
export function sentBytes(bytes: Bytes, fault: Fault | null, stream: HashedStream, most: number): Sent {
  const whole = joined(bytes);
  if (fault === null) {
    // The end of an answer that says no length is that of its connection.
    const isAnswer = whole.subarray(0, 5).equals(Buffer.from('HTTP/'));
    const isClosed = /^Connection: close/mu.test(whole.toString('latin1'));
    return { pieces: inPieces(whole, stream), then: isAnswer && isClosed ? 'end' : 'stay' };
  }
  const { deed, at } = fault;
  const places = bytes.flatMap(([kind], index) => (kind === at ? [{ index }] : []));
  const { index } = stream.pick(places);
  const start = joined(bytes.slice(0, index)).length;
  const place = start + stream.integer(0, Math.max(0, (bytes[index]?.[1].length ?? 1) - 1));
  const [before, after] = [whole.subarray(0, place), whole.subarray(place)];
  if (deed === 'garbage') {
    const garbage = Buffer.from(Array.from({ length: stream.integer(1, 6) }, () => stream.integer(0, 255)));
    return { pieces: inPieces(Buffer.concat([before, garbage, after.subarray(garbage.length)]), stream), then: 'end' };
  }
  if (deed === 'flood') {
    const unit = Buffer.from(stream.pick(UNITS.map((text) => ({ text }))).text);
    const length = 2 ** stream.integer(4, Math.floor(Math.log2(most)));
    return { pieces: inPieces(Buffer.concat([before, Buffer.alloc(length, unit), after]), stream), then: 'end' };
  }
  return { pieces: inPieces(before, stream), then: deed === 'cut' ? 'end' : deed };
}

/** Bytes in some pieces that begin and end anywhere. */
function inPieces(bytes: Buffer, stream: HashedStream): readonly Buffer[] {
  const places = Array.from({ length: stream.integer(0, 3) }, () => stream.integer(0, bytes.length)).sort(
    (a, b) => a - b,
  );
  return [0, ...places]
    .map((from, index) => bytes.subarray(from, places[index] ?? bytes.length))
    .filter(({ length }) => length > 0);
}

/**
 * What a client reads in the body of an answer that reached it whole, by the plainest of readers; null where the body
 * is not of its form, bit for bit, and every reader may take it as it likes.
 */
export function readByClient({ api, isStream }: AnswerForm, body: Buffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    return isStream ? readEvents(api, text) : readWhole(api, JSON.parse(text));
  } catch {
    return null;
  }
}

/** What is at the end of a path. @throws TypeError where it is none */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((held, key) => {
    if (typeof held !== 'object' || held === null) {
      throw new TypeError('no such path');
    }
    return Reflect.get(held, key);
  }, value);
}

function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  if (typeof found !== 'string') {
    throw new TypeError('no text');
  }
  return found;
}

const FORMS = new Map<Api, (text: string) => string>(
  APIS.map((api) => [api, (text) => JSON.stringify(WHOLE[api](text))]),
);

/** The text of a body that is the one that is sent, but for its text. */
function readWhole(api: Api, body: unknown): string {
  const path =
    api === 'chat'
      ? ['choices', 0, 'message', 'content']
      : api === 'completions'
        ? ['choices', 0, 'text']
        : api === 'responses'
          ? ['output', 0, 'content', 0, 'text']
          : ['content', 0, 'text'];
  const text = textAt(body, ...path);
  if (JSON.stringify(body) !== FORMS.get(api)?.(text)) {
    throw new TypeError('another form');
  }
  return text;
}

function readEvents(api: Api, text: string): string {
  const events = text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((one) => one.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => line.slice('data: '.length));
  const said = events.filter((one) => one !== '[DONE]').map((one): unknown => JSON.parse(one));
  const pieces = said.flatMap((one): string[] => {
    const found = isRecord(one) ? deltaOf(api, one) : undefined;
    return typeof found === 'string' ? [found] : [];
  });
  const [first = '', second = ''] = pieces;
  if (pieces.length !== 2 || text !== joined(STREAMED[api](first, second)).toString()) {
    throw new TypeError('another form');
  }
  return first + second;
}

function deltaOf(api: Api, one: Readonly<Record<string, unknown>>): unknown {
  if (api === 'chat') {
    return at(one, 'choices', 0, 'delta', 'content');
  }
  if (api === 'completions') {
    return at(one, 'choices', 0, 'text');
  }
  return api === 'responses' ? one['delta'] : isRecord(one['delta']) ? one['delta']['text'] : undefined;
}
