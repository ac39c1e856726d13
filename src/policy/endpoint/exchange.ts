/** One request to one address, and its answer: bounded in time and length, and with no second attempt. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { anyOf } from '../../shared/cancellation.ts';
import { CancelledError, messageOf } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { askServer, type NoReply } from './asking.ts';
import { unpackedChunks } from './contentEncoding.ts';
import { eventsIn } from './events.ts';
import { EndpointFailure, retryAfterOf, statusFailure } from './failure.ts';
import { errorWords, ReplyReader, type Reply } from './reply.ts';

/** Characters and bytes of one answer. */
const MOST_BYTES = 32 * 2 ** 20;
const MOST_EVENT = 8 * 2 ** 20;
/** Bytes of what a server says of an error. */
const MOST_ERROR = 64 * 1024;

const PATHS: Readonly<Record<EndpointApi, string>> = { chat: 'chat/completions', completions: 'completions' };

export interface Exchange {
  /** The address, without the part that the form of the request adds. */
  readonly base: string;
  readonly api: EndpointApi;
  readonly key: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  /** Milliseconds for all of it. */
  readonly timeLimit: number;
}

/** Asks once. @throws EndpointFailure; CancelledError */
export async function exchange({ base, api, key, body, timeLimit }: Exchange, signal: AbortSignal): Promise<Reply> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeLimit);
  let reply: IncomingMessage | undefined;
  try {
    const asking = {
      url: new URL(`${base}/${PATHS[api]}`),
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'c3',
        'accept-encoding': 'identity',
        ...(key !== null && { authorization: `Bearer ${key}` }),
      },
      body: Buffer.from(JSON.stringify(body)),
    };
    const asked = await askServer(asking, anyOf(signal, late.signal));
    if ('why' in asked) {
      throw new NotReached(asked);
    }
    ({ reply } = asked);
    const { statusCode: status = 0, headers } = reply;
    const chunks = unpackedChunks(reply, headers['content-encoding']);
    if (status < 200 || status > 299) {
      const words = errorWords(await textOf(chunks, MOST_ERROR, true), key);
      throw statusFailure(status, words, retryAfterOf(headers['retry-after'] ?? null, Date.now()));
    }
    const reader = new ReplyReader(key);
    if (/^text\/event-stream\b/iu.test(headers['content-type'] ?? '')) {
      for await (const event of eventsIn(boundedChunks(chunks, MOST_BYTES), MOST_EVENT)) {
        if (!reader.add(event)) {
          break;
        }
      }
    } else {
      reader.addWhole(await textOf(chunks, MOST_BYTES, false));
    }
    return reader.end();
  } catch (error) {
    if (error instanceof EndpointFailure) {
      throw error;
    }
    if (signal.aborted) {
      throw new CancelledError();
    }
    if (late.signal.aborted) {
      throw new EndpointFailure('again', `did not answer within ${timeLimit / 1000} s`, { charged: true });
    }
    throw error instanceof NotReached
      ? new EndpointFailure('again', `cannot be reached (${error.message.slice(0, 200)})`, {
          dead: true,
          absent: error.absent,
        })
      : new EndpointFailure('again', `broke off its answer (${causeOf(error)})`, { charged: true });
  } finally {
    clearTimeout(timer);
    reply?.destroy();
  }
}

/** What the system says of an address where nothing listens, and of a name that no server has. */
const ABSENT: ReadonlySet<string | null> = new Set(['ECONNREFUSED', 'ENOTFOUND']);

/** No reply has begun. */
class NotReached extends Error {
  /** See EndpointFailure. */
  readonly absent: boolean;

  constructor({ code, why, isReached }: NoReply) {
    super(code ?? why);
    this.absent = !isReached && ABSENT.has(code);
  }
}

/** What a broken connection says of itself. */
const causeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : messageOf(error).slice(0, 200);

/** @param cut whether what is too long is cut; else it is refused */
async function textOf(body: Readable, most: number, cut: boolean): Promise<string> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of boundedChunks(body, most)) {
      chunks.push(chunk);
    }
  } catch (error) {
    if (!cut) {
      throw error;
    }
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function* boundedChunks(body: Readable, most: number): AsyncGenerator<Uint8Array, void, undefined> {
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > most) {
      throw new RangeError(`more than ${most} bytes`);
    }
    yield chunk;
  }
}
