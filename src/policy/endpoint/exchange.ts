/** One request to one address, and its answer: bounded in time and length, and with no second attempt. */
import { anyOf } from '../../shared/cancellation.ts';
import { CancelledError, messageOf } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
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
  const timer = setTimeout(() => {
    late.abort();
  }, timeLimit);
  let begun = false;
  try {
    const response = await fetch(`${base}/${PATHS[api]}`, {
      method: 'POST',
      // A key is for the address that was named, and for no other.
      redirect: 'error',
      headers: { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(body),
      signal: anyOf(signal, late.signal),
    });
    if (!response.ok) {
      const words = errorWords(await textOf(response, MOST_ERROR, true), key);
      throw statusFailure(response.status, words, retryAfterOf(response.headers.get('retry-after'), Date.now()));
    }
    begun = true;
    const reader = new ReplyReader(key);
    if (/^text\/event-stream\b/iu.test(response.headers.get('content-type') ?? '')) {
      for await (const event of eventsIn(boundedChunks(response, MOST_BYTES), MOST_EVENT)) {
        if (!reader.add(event)) {
          break;
        }
      }
    } else {
      reader.addWhole(await textOf(response, MOST_BYTES, false));
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
      throw new EndpointFailure('again', `did not answer within ${String(timeLimit / 1000)} s`, { charged: true });
    }
    throw begun
      ? new EndpointFailure('again', `broke off its answer (${causeOf(error)})`, { charged: true })
      : new EndpointFailure('again', `cannot be reached (${causeOf(error)})`, { dead: true });
  } finally {
    clearTimeout(timer);
  }
}

/** What a failed connection says of itself: the reason below `fetch failed`. */
const causeOf = (error: unknown): string => {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return code === '' ? messageOf(cause ?? error).slice(0, 200) : code;
};

/** @param cut whether what is too long is cut; else it is refused */
async function textOf(response: Response, most: number, cut: boolean): Promise<string> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of boundedChunks(response, most)) {
      chunks.push(chunk);
    }
  } catch (error) {
    if (!cut) {
      throw error;
    }
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function* boundedChunks(response: Response, most: number): AsyncGenerator<Uint8Array, void, undefined> {
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > most) {
      throw new RangeError(`more than ${String(most)} bytes`);
    }
    yield chunk;
  }
}
