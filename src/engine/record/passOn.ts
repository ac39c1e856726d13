/**
 * Passes one call on to the server, and its answer to the program piece by piece. Either side may
 * break off at any byte. That is reported to the listener and never thrown to the caller.
 */

import { Agent as PlainAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { askServer, type ServerRequest, type Connections } from '../../policy/endpoint/asking.ts';
import { toErrorMessage } from '../../shared/errors.ts';

/** Receives each part of an answer before the program does. */
export interface AnswerListener {
  /** Called when the answer begins. */
  readonly head: (status: number, type: string, encoding: string | undefined) => void;
  readonly piece: (piece: Buffer) => Promise<void>;
  /** Called when the answer has ended, before the program is told. */
  readonly end: (how: AnswerEnd) => Promise<void>;
}

/**
 * whole: the answer is complete; cut: the server broke off or sent no valid answer; left: the
 * program disconnected; unreached: there was no connection to the server.
 */
export type AnswerEnd = 'whole' | 'cut' | 'left' | 'unreached';

/** Headers that apply to one connection only and are not passed on. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'accept-encoding',
  'expect',
]);

export const isHopHeader = (name: string): boolean => HOP_BY_HOP.has(name);

/** The connections of one recording. */
export class OwnConnections implements Connections {
  readonly plain = new PlainAgent({ keepAlive: true });
  readonly secure = new SecureAgent({ keepAlive: true });

  close(): void {
    this.plain.destroy();
    this.secure.destroy();
  }
}

/** Ignores everything. */
export const SILENT: AnswerListener = {
  head: () => undefined,
  piece: () => Promise.resolve(),
  end: () => Promise.resolve(),
};

/**
 * Passes a call on and gives its answer to the program.
 * @param refuse answers the program if the server sent nothing that could be passed on
 */
export async function passCallOn(
  connections: Connections,
  asking: ServerRequest,
  to: ServerResponse,
  { listener, refuse }: { readonly listener: AnswerListener; readonly refuse: (why: string) => Promise<void> },
): Promise<void> {
  to.on('error', () => undefined);
  // If the program disconnects, cancel the request to the server.
  const left = new AbortController();
  to.once('close', () => left.abort());
  if (hasDisconnected(to)) {
    left.abort();
  }
  const answered = await askServer(asking, left.signal, connections);
  if ('why' in answered) {
    const { why, isReached } = answered;
    await listener.end(hasDisconnected(to) ? 'left' : isReached ? 'cut' : 'unreached');
    await refuse(why);
    return;
  }
  const { reply } = answered;
  try {
    const { statusCode = 502, headers } = reply;
    listener.head(statusCode, headers['content-type'] ?? '', headers['content-encoding']);
    to.writeHead(statusCode, Object.fromEntries(Object.entries(headers).filter(([name]) => !isHopHeader(name))));
    to.flushHeaders();
    await passAnswerOn(reply, to, listener);
  } catch (error) {
    reply.destroy();
    await listener.end(hasDisconnected(to) ? 'left' : 'cut');
    await refuse(toErrorMessage(error));
    return;
  }
  await listener.end('whole');
  to.end();
}

const hasDisconnected = (to: ServerResponse): boolean => to.closed || to.destroyed;

/** Passes an answer on to its end. @throws Error if the server or the program breaks off */
async function passAnswerOn(reply: IncomingMessage, to: ServerResponse, listener: AnswerListener): Promise<void> {
  for await (const piece of reply as AsyncIterable<Buffer>) {
    await listener.piece(piece);
    if (!to.write(piece)) {
      await waitForDrain(to);
    }
  }
  if (!reply.complete) {
    throw new Error('the answer is not whole');
  }
}

/** Waits until the program reads on. @throws Error if it has disconnected */
function waitForDrain(to: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const resume = (): void => {
      to.off('drain', resume);
      to.off('close', resume);
      if (hasDisconnected(to)) {
        reject(new Error('the program has left'));
      } else {
        resolve();
      }
    };
    if (hasDisconnected(to)) {
      resume();
    } else {
      to.on('drain', resume).on('close', resume);
    }
  });
}
