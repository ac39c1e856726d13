/**
 * Shared parts of the HTTP servers on this machine. A client that sends too much still gets its
 * answer: if a connection were closed with unread bytes, it would be reset, and the client would lose
 * the answer.
 */

import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { NEVER, onAbort } from '../../shared/cancellation.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { GrowingBytes } from './growingBytes.ts';

/** Limits for reading and dropping the rest of a request that was answered before it was complete. */
export interface Lingering {
  readonly bytes: number;
  readonly milliseconds: number;
}

export const LINGERING: Lingering = { bytes: 128 * 2 ** 20, milliseconds: 10_000 };

/** Creates the body of a refusal, in the form that the server's clients expect. */
export type Refusal = (status: number, message: string) => object;

/** Status codes for invalid requests, by error code; all others are 400. */
const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
const CONTINUE = /^100-continue$/iu;

/**
 * Creates a server whose refusals always reach the client, including Node's own refusals.
 * @param listener gets every request, including those without Host; it must answer with `answerJson`
 *   and read with `readBodyWithin`
 */
export function createLocalServer(
  listener: RequestListener,
  refusal: Refusal,
  options: ServerOptions = {},
  lingering = LINGERING,
): Server {
  const underWay = new WeakMap<Duplex, Set<ServerResponse>>();
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    const responses = underWay.get(request.socket) ?? new Set();
    underWay.set(request.socket, responses.add(response));
    response.once('close', () => responses.delete(response));
    listener(request, response);
  };
  const refused = (status: number, message: string): string => {
    const text = JSON.stringify(refusal(status, message));
    const head = { ...buildJsonHeaders(text), connection: 'close' };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
    return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', text].join('\r\n');
  };
  return (
    createServer({ ...options, requireHostHeader: false }, receive)
      // The client is asked for the body only when it is read.
      .on('checkContinue', receive)
      .on(
        'checkExpectation',
        (_request, response) =>
          void answerJson(response, 417, refusal(417, 'The only Expect is 100-continue.'), lingering),
      )
      .on('connect', (_request, socket) => {
        // The client sends nothing more until it is answered.
        socket.on('error', () => undefined).end(refused(405, 'This server is not a proxy.'), () => socket.destroy());
      })
      .on('clientError', (error: NodeJS.ErrnoException, socket) => {
        const begun = [...(underWay.get(socket) ?? [])].some(({ headersSent }) => headersSent);
        if (begun || !socket.writable) {
          socket.destroy();
        } else {
          const status = STATUSES[error.code ?? ''] ?? 400;
          socket.write(refused(status, `The request is not valid, or took too long: ${toErrorMessage(error)}.`));
          drainSocket(socket, lingering);
        }
      })
  );
}

/** Sends a complete answer. The rest of an incomplete request is dropped, and its connection closed. */
export async function answerJson(
  response: ServerResponse,
  status: number,
  body: object,
  lingering = LINGERING,
): Promise<void> {
  const { req: request } = response;
  if (!request.complete) {
    // The body may have arrived together with the head.
    request.resume();
    await setImmediate();
  }
  if (response.destroyed) {
    return;
  }
  const text = JSON.stringify(body);
  if (request.complete) {
    response.writeHead(status, buildJsonHeaders(text)).end(text);
    return;
  }
  const { socket } = request;
  // Sent as one piece, before the connection can be closed.
  socket.cork();
  response.writeHead(status, { ...buildJsonHeaders(text), connection: 'close' }).flushHeaders();
  response.write(text, () => drainSocket(socket, lingering));
  socket.uncork();
}

const buildJsonHeaders = (text: string): Record<string, string> => ({
  'content-type': 'application/json; charset=utf-8',
  'content-length': String(Buffer.byteLength(text)),
  'cache-control': 'no-store',
});

/** Ends the writing side, and reads within the limits until the client has closed its side too. */
function drainSocket(socket: Duplex, { bytes, milliseconds }: Lingering): void {
  if (socket.destroyed) {
    return;
  }
  let left = bytes;
  const timer = setTimeout(() => socket.destroy(), milliseconds);
  socket.once('close', () => clearTimeout(timer));
  // The HTTP parser gets no more data.
  socket.removeAllListeners('data');
  socket.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) {
      socket.destroy();
    }
  });
  socket.resume();
  socket.end();
}

/**
 * Reads the body of a request.
 * @returns null as soon as it has more than `most` bytes; the rest is left to `answerJson`
 * @throws CancelledError; Error if the client disconnects
 */
export async function readBodyWithin(response: ServerResponse, most: number, signal = NEVER): Promise<Buffer | null> {
  const { req: request } = response;
  const { headers, httpVersion } = request;
  if (Number(headers['content-length'] ?? 0) > most) {
    return null;
  }
  if (httpVersion === '1.1' && CONTINUE.test(headers.expect ?? '')) {
    response.writeContinue();
  }
  const read = Promise.withResolvers<Buffer | null>();
  const bytes = new GrowingBytes();
  let length = 0;
  const onData = (piece: Buffer): void => {
    length += piece.length;
    if (length > most) {
      read.resolve(null);
    } else {
      bytes.add(piece);
    }
  };
  request.on('data', onData);
  request.once('end', () => read.resolve(bytes.bytes()));
  request.once('close', () => read.reject(new Error('The client disconnected before its request was complete.')));
  const release = onAbort(signal, () => read.reject(new CancelledError()));
  try {
    return await read.promise;
  } finally {
    release();
    request.off('data', onData);
    bytes.clear();
  }
}
