/** Clients of HTTP that see what a connection does, and write what no library would. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

export interface RawAnswer {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** The head of a request. @param headers its lines, with a Host where the server wants one */
export const headOf = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, ...headers, '', ''].join('\r\n');

/** A connection that goes on writing after the server has ended its side. */
export async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

/** What a server says until it has said `ending`, or else ends its side; the client's stays as it is. */
export async function heard(socket: Socket, ending: string | null = null): Promise<string> {
  let said = '';
  for await (const piece of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    said += piece.toString('latin1');
    if (ending !== null && said.endsWith(ending)) {
      break;
    }
  }
  return said;
}

/** What a server said, up to its end of the connection. @throws Error for anything but one answer */
export function readAnswer(said: string): RawAnswer {
  const [, status = '', headers = '', body = ''] =
    /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/su.exec(said) ?? [];
  const length = /^content-length: (\d+)$/imu.exec(headers)?.[1];
  if (length !== String(Buffer.byteLength(body))) {
    throw new Error(`No whole answer: ${JSON.stringify(said)}`);
  }
  return { status: Number(status), headers, body };
}

/**
 * Writes everything before it reads anything, as many clients do.
 * @param pieces each is written when the one before has left; a whole body is one
 * @throws Error where the connection is reset before that
 */
export async function writeThenRead(port: number, pieces: readonly (string | Buffer)[]): Promise<RawAnswer> {
  const socket = await connected(port);
  // What is written hears of it.
  socket.on('error', () => undefined);
  for (const piece of pieces) {
    await written(socket, piece);
    await setImmediate();
  }
  const said = await heard(socket);
  socket.destroy();
  return readAnswer(said);
}

function written(socket: Socket, piece: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(piece, (error) => {
      if (error) {
        reject(error);
      } else {
        resolve();
      }
    });
  });
}

/** Writes the same piece until the server lets the connection go. @returns what it said */
export async function writeForever(port: number, head: string, piece: Buffer): Promise<string> {
  const socket = await connected(port);
  let said = '';
  // It is reset in the end.
  const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve));
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    said += chunk;
  });
  const more = (error?: Error | null): void => {
    if (!error && !socket.destroyed) {
      socket.write(piece, more);
    }
  };
  socket.write(head, more);
  await closed;
  return said;
}
