/**
 * Requests over HTTP to servers that may break off at any byte: no error of a connection is ever uncaught, however late
 * it comes. Node's own `fetch` throws one past everybody where a connection ends while its answer waits to be read
 * (nodejs/undici#5360).
 */
import { request as plainRequest, type Agent as PlainAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest, type Agent as SecureAgent } from 'node:https';
import { messageOf } from '../../shared/errors.ts';

/** What is asked. */
export interface Asking {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
}

/** Connections that are kept for the next request; those of the whole process unless given. */
export interface Connections {
  readonly plain: PlainAgent;
  readonly secure: SecureAgent;
}

export interface NoReply {
  readonly why: string;
  /** As the system names it, such as ECONNREFUSED; null where it has no name. */
  readonly code: string | null;
  readonly isReached: boolean;
}

/** A reply as it begins. Reading it throws where it breaks off, but for one without a length, which is `complete`. */
export type Asked = { readonly reply: IncomingMessage } | NoReply;

/** @param signal leaves, the reply too */
export async function askServer(asking: Asking, signal: AbortSignal, connections?: Connections): Promise<Asked> {
  for (let attempt = 1; ; attempt++) {
    let request: ClientRequest;
    try {
      request = sent(asking, signal, connections);
    } catch (error) {
      return { why: messageOf(error), code: null, isReached: false };
    }
    const asked = await beginning(request);
    // A server may end a kept connection just when it is used again: then it has read nothing.
    const isStale = 'why' in asked && (asked.code === 'ECONNRESET' || asked.code === 'EPIPE') && request.reusedSocket;
    if (!isStale || attempt > 1 || signal.aborted) {
      return asked;
    }
  }
}

function sent({ url, method, headers, body }: Asking, signal: AbortSignal, connections?: Connections): ClientRequest {
  const [to, agent] =
    url.protocol === 'https:' ? [secureRequest, connections?.secure] : [plainRequest, connections?.plain];
  const request = to(url, { method, headers, signal, agent });
  request.on('error', () => undefined);
  request.end(body);
  return request;
}

function beginning(request: ClientRequest): Promise<Asked> {
  return new Promise((resolve) => {
    let why = 'it ended the connection without an answer';
    let code: string | null = null;
    let isReached = false;
    request.once('socket', (socket) => {
      isReached = !socket.connecting;
      socket.once('connect', () => {
        isReached = true;
      });
    });
    request.once('error', (error: NodeJS.ErrnoException) => {
      why = messageOf(error);
      code = error.code ?? null;
    });
    request.once('response', (reply) => {
      reply.on('error', () => undefined);
      resolve({ reply });
    });
    // It comes after each end of a request: an error, and an answer in another protocol too.
    request.once('close', () => resolve({ why, code, isReached }));
  });
}
