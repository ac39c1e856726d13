/**
 * One call on its way: asked of the server that answers, and its answer given to the program piece by piece. Either
 * side may break off at any byte; what comes of that is said, and never thrown past here.
 */
import {
  Agent as PlainAgent,
  request as plainRequest,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { messageOf } from '../../shared/errors.ts';

/** What is asked. */
export interface Asking {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
}

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

/** Asks servers over connections that are kept for the next call. */
export class Asker {
  private readonly plain = new PlainAgent({ keepAlive: true });
  private readonly secure = new SecureAgent({ keepAlive: true });

  /** Sends a request. No error of its connection is ever uncaught, however late it comes. */
  ask({ url, method, headers, body }: Asking): ClientRequest {
    const asked =
      url.protocol === 'https:'
        ? secureRequest(url, { method, headers, agent: this.secure })
        : plainRequest(url, { method, headers, agent: this.plain });
    asked.on('error', () => undefined);
    asked.end(body);
    return asked;
  }

  /** Ends all connections. */
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
  asker: Asker,
  asking: Asking,
  to: ServerResponse,
  { listener, refuse }: { readonly listener: AnswerListener; readonly refuse: (why: string) => Promise<void> },
): Promise<void> {
  to.on('error', () => undefined);
  const answered = await answerOf(asker, asking, to);
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

interface Unanswered {
  readonly why: string;
  readonly isReached: boolean;
  /** Whether the server ended the connection. */
  readonly isEnded: boolean;
}
type Answered = { readonly reply: IncomingMessage } | Unanswered;

/** The answer as it begins, or why there is none; who leaves takes the request along. */
async function answerOf(asker: Asker, asking: Asking, to: ServerResponse): Promise<Answered> {
  for (let attempt = 1; ; attempt++) {
    let asked: ClientRequest;
    try {
      asked = asker.ask(asking);
    } catch (error) {
      return { why: messageOf(error), isReached: false, isEnded: false };
    }
    const leave = (): void => {
      asked.destroy();
    };
    to.once('close', leave);
    if (hasLeft(to)) {
      leave();
    }
    const answered = await beginning(asked);
    // A server may end a kept connection just when it is used again: then it has read nothing.
    const isStale = 'why' in answered && answered.isEnded && asked.reusedSocket;
    if (!isStale || attempt > 1 || hasLeft(to)) {
      return answered;
    }
    to.off('close', leave);
  }
}

function beginning(asked: ClientRequest): Promise<Answered> {
  return new Promise((resolve) => {
    let why = 'it ended the connection without an answer';
    let [isReached, isEnded] = [false, false];
    asked.once('socket', (socket) => {
      isReached = !socket.connecting;
      socket.once('connect', () => {
        isReached = true;
      });
    });
    asked.once('error', (error: NodeJS.ErrnoException) => {
      why = messageOf(error);
      isEnded = error.code === 'ECONNRESET' || error.code === 'EPIPE';
    });
    asked.once('response', (reply) => {
      reply.on('error', () => undefined);
      resolve({ reply });
    });
    // It comes after each end of a request: an error, and an answer in another protocol too.
    asked.once('close', () => {
      resolve({ why, isReached, isEnded });
    });
  });
}

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
    const settle = (): void => {
      to.off('drain', settle);
      to.off('close', settle);
      if (hasLeft(to)) {
        reject(new Error('the program has left'));
      } else {
        resolve();
      }
    };
    if (hasLeft(to)) {
      settle();
    } else {
      to.on('drain', settle).on('close', settle);
    }
  });
}
