/**
 * Sends HTTP requests to servers that may break off at any byte. No connection error is ever
 * uncaught, however late it comes. Node's own `fetch` throws an uncaught one if a connection ends
 * while its reply is not read yet (nodejs/undici#5360).
 */

import { request as plainRequest, type Agent as PlainAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest, type Agent as SecureAgent } from 'node:https';
import { toErrorMessage } from '../../shared/errors.ts';

/** A request. */
export interface ServerRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
}

/** Pools of kept connections. Default: those of the whole process. */
export interface Connections {
  readonly plain: PlainAgent;
  readonly secure: SecureAgent;
}

export interface NoReply {
  readonly why: string;
  /** The system's name, such as ECONNREFUSED, or null. */
  readonly code: string | null;
  readonly isReached: boolean;
}

/**
 * A reply whose body is still to be read. Reading throws if the reply breaks off, except that one
 * without a length is then not `complete`.
 */
export type ServerReply = { readonly reply: IncomingMessage } | NoReply;

/**
 * Sends a request and waits for the beginning of the reply.
 * @param signal cancels the request and the reply
 */
export async function askServer(
  asking: ServerRequest,
  signal: AbortSignal,
  connections?: Connections,
): Promise<ServerReply> {
  for (let attempt = 1; ; attempt++) {
    let request: ClientRequest;
    try {
      request = startRequest(asking, signal, connections);
    } catch (error) {
      return { why: toErrorMessage(error), code: null, isReached: false };
    }
    const asked = await waitForReply(request);
    // A server may end a kept connection just when it is used again. It has then read nothing.
    const isStale = 'why' in asked && (asked.code === 'ECONNRESET' || asked.code === 'EPIPE') && request.reusedSocket;
    if (!isStale || attempt > 1 || signal.aborted) {
      return asked;
    }
  }
}

function startRequest(
  { url, method, headers, body }: ServerRequest,
  signal: AbortSignal,
  connections?: Connections,
): ClientRequest {
  const [to, agent] =
    url.protocol === 'https:' ? [secureRequest, connections?.secure] : [plainRequest, connections?.plain];
  const request = to(url, { method, headers, signal, agent });
  request.on('error', () => undefined);
  request.end(body);
  return request;
}

function waitForReply(request: ClientRequest): Promise<ServerReply> {
  return new Promise((resolve) => {
    let why = 'it ended the connection without an answer';
    let code: string | null = null;
    let isReached = false;
    request.once('socket', (socket) => {
      isReached = !socket.connecting;
      // A kept connection never connects again, so listeners would only add up.
      if (socket.connecting) {
        socket.once('connect', () => {
          isReached = true;
        });
      }
    });
    request.once('error', (error: NodeJS.ErrnoException) => {
      why = toErrorMessage(error);
      code = error.code ?? null;
    });
    request.once('response', (reply) => {
      reply.on('error', () => undefined);
      resolve({ reply });
    });
    // It follows every end of a request, including an error and a reply in another protocol.
    request.once('close', () => resolve({ why, code, isReached }));
  });
}
