/** Sends one request and reads the reply, with limits on time and length, without retries. */

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { combineSignals } from '../../shared/cancellation.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { askServer, type NoReply } from './asking.ts';
import { unpackChunks } from './contentEncoding.ts';
import { readEventStream } from './events.ts';
import { EndpointFailure, parseRetryAfter, toStatusFailure } from './failure.ts';
import { readErrorMessage, ReplyReader, type Reply } from './reply.ts';

/** The most bytes of one answer, and characters of one event. */
const MOST_BYTES = 32 * 2 ** 20;
const MOST_EVENT = 8 * 2 ** 20;
/** The most bytes of an error's body. */
const MOST_ERROR = 64 * 1024;

const PATHS: Readonly<Record<EndpointApi, string>> = { chat: 'chat/completions', completions: 'completions' };

export interface Exchange {
  /** The address without the path of the API. */
  readonly base: string;
  readonly api: EndpointApi;
  readonly key: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  /** Milliseconds for the whole exchange. */
  readonly timeLimit: number;
}

/**
 * Sends a request once.
 * @throws EndpointFailure; CancelledError
 */
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
    const asked = await askServer(asking, combineSignals(signal, late.signal));
    if ('why' in asked) {
      throw new NotReached(asked);
    }
    ({ reply } = asked);
    const { statusCode: status = 0, headers } = reply;
    const chunks = unpackChunks(reply, headers['content-encoding']);
    if (status < 200 || status > 299) {
      const words = readErrorMessage(await readBodyText(chunks, MOST_ERROR, true), key);
      throw toStatusFailure(status, words, parseRetryAfter(headers['retry-after'] ?? null, Date.now()));
    }
    const reader = new ReplyReader(key);
    if (/^text\/event-stream\b/iu.test(headers['content-type'] ?? '')) {
      for await (const event of readEventStream(boundedChunks(chunks, MOST_BYTES), MOST_EVENT)) {
        if (!reader.add(event)) {
          break;
        }
      }
    } else {
      reader.addWhole(await readBodyText(chunks, MOST_BYTES, false));
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
      : new EndpointFailure('again', `broke off its answer (${describeCause(error)})`, { charged: true });
  } finally {
    clearTimeout(timer);
    reply?.destroy();
  }
}

/** Error codes for an address where nothing listens, and for a host name that no server has. */
const ABSENT: ReadonlySet<string | null> = new Set(['ECONNREFUSED', 'ENOTFOUND']);

/** The error for a request without a reply. */
class NotReached extends Error {
  /** See `EndpointFailure.absent`. */
  readonly absent: boolean;

  constructor({ code, why, isReached }: NoReply) {
    super(code ?? why);
    this.absent = !isReached && ABSENT.has(code);
  }
}

/** Returns the error code or the message of a broken connection. */
const describeCause = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : toErrorMessage(error).slice(0, 200);

/**
 * Reads a body as text.
 * @param cut true to cut a body that is too long; otherwise it is refused
 */
async function readBodyText(body: Readable, most: number, cut: boolean): Promise<string> {
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
