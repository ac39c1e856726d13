/**
 * One call on its way: asked of the server that answers, and its answer given to the program piece by piece. Either
 * side may break off at any byte; what comes of that is said, and never thrown past here.
 */
import { Agent as PlainAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { askServer, type Asking, type Connections } from '../../policy/endpoint/asking.ts';
import { messageOf } from '../../shared/errors.ts';

/** What hears an answer, each part of it before the program does. */
export interface AnswerListener {
  /** The answer begins. */
  readonly head: (status: number, type: string, encoding: string | undefined) => void;
  readonly piece: (piece: Buffer) => Promise<void>;
  /** It has ended, and the program does not know yet. */
  readonly end: (how: AnswerEnd) => Promise<void>;
}

/**
 * whole: as the server meant it; cut: the server broke off, or said what is no answer; left: the program did not wait;
 * unreached: there was no connection to the server.
 */
export type AnswerEnd = 'whole' | 'cut' | 'left' | 'unreached';

/** Headers of one connection, which say nothing to the next. */
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

export const isHop = (name: string): boolean => HOP_BY_HOP.has(name);

/** Connections of one recording. */
export class OwnConnections implements Connections {
  readonly plain = new PlainAgent({ keepAlive: true });
  readonly secure = new SecureAgent({ keepAlive: true });

  /** Ends all of them. */
  close(): void {
    this.plain.destroy();
    this.secure.destroy();
  }
}

/** Hears nothing. */
export const SILENT: AnswerListener = {
  head: () => undefined,
  piece: () => Promise.resolve(),
  end: () => Promise.resolve(),
};

/**
 * Passes a call on and gives its answer to the program.
 * @param refuse answers the program where the server gave nothing that could be passed on
 */
export async function passOn(
  connections: Connections,
  asking: Asking,
  to: ServerResponse,
  { listener, refuse }: { readonly listener: AnswerListener; readonly refuse: (why: string) => Promise<void> },
): Promise<void> {
  to.on('error', () => undefined);
  // Who leaves takes the request along.
  const left = new AbortController();
  to.once('close', () => left.abort());
  if (hasLeft(to)) {
    left.abort();
  }
  const answered = await askServer(asking, left.signal, connections);
  if ('why' in answered) {
    const { why, isReached } = answered;
    await listener.end(hasLeft(to) ? 'left' : isReached ? 'cut' : 'unreached');
    await refuse(why);
    return;
  }
  const { reply } = answered;
  try {
    const { statusCode = 502, headers } = reply;
    listener.head(statusCode, headers['content-type'] ?? '', headers['content-encoding']);
    to.writeHead(statusCode, Object.fromEntries(Object.entries(headers).filter(([name]) => !isHop(name))));
    to.flushHeaders();
    await given(reply, to, listener);
  } catch (error) {
    reply.destroy();
    await listener.end(hasLeft(to) ? 'left' : 'cut');
    await refuse(messageOf(error));
    return;
  }
  await listener.end('whole');
  to.end();
}

const hasLeft = (to: ServerResponse): boolean => to.closed || to.destroyed;

/** Gives an answer on to its end. @throws Error where the server or the program breaks off */
async function given(reply: IncomingMessage, to: ServerResponse, listener: AnswerListener): Promise<void> {
  for await (const piece of reply as AsyncIterable<Buffer>) {
    await listener.piece(piece);
    if (!to.write(piece)) {
      await drained(to);
    }
  }
  if (!reply.complete) {
    throw new Error('the answer is not whole');
  }
}

/** Waits until the program reads on. @throws Error where it has left */
function drained(to: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const resume = (): void => {
      to.off('drain', resume);
      to.off('close', resume);
      if (hasLeft(to)) {
        reject(new Error('the program has left'));
      } else {
        resolve();
      }
    };
    if (hasLeft(to)) {
      resume();
    } else {
      to.on('drain', resume).on('close', resume);
    }
  });
}
