/** A model server that says anything but HTTP, and a program that asks it by way of the passing server. */

import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { PassingServer, type PassingPlaces } from '../../../../src/engine/record/passingServer.ts';
import type { PassedCall } from '../../../../src/engine/record/recording.ts';

/** What the passing server has told of its calls. */
export interface Heard {
  readonly taken: PassedCall[];
  readonly leftOut: Map<string, number>;
}

/** A server of sockets. @param script hears each connection once its request has begun, with how many came before */
export async function socketServer(
  t: TestContext,
  script: (socket: Socket, before: number) => void,
): Promise<{ readonly url: string; readonly sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const before = sockets.push(socket) - 1;
    socket.once('data', () => {
      script(socket, before);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, sockets };
}

/** A passing server whose recording notes what it hears. @param isWhole what the recording says of each call */
export async function passingTo(
  t: TestContext,
  upstream: string,
  isWhole: (call: PassedCall) => boolean = () => true,
): Promise<Heard & { readonly server: PassingServer; readonly places: PassingPlaces }> {
  const [taken, leftOut] = [[] as PassedCall[], new Map<string, number>()];
  const leaveOut = (reason: string, count = 1): void => {
    leftOut.set(reason, (leftOut.get(reason) ?? 0) + count);
  };
  const recording = {
    take: (call: PassedCall) => {
      if (isWhole(call)) {
        taken.push(call);
      } else {
        leaveOut(call.otherwise);
      }
      return Promise.resolve();
    },
    leaveOut,
    score: () => false,
  };
  const server = new PassingServer(recording, { upstream, model: null, anthropic: null, azure: null }, () => undefined);
  const places = await server.listen();
  let closed: Promise<void> | undefined;
  const close = server.close.bind(server);
  server.close = () => (closed ??= close());
  t.after(() => server.close());
  return { taken, leftOut, server, places };
}

/** What a program gets of one call: its status and body; `cut` where its connection ended before the answer's end. */
export interface Got {
  readonly status: number | null;
  readonly body: string;
  readonly cut: boolean;
}

/** Begins a call of the program. @param body JSON that is sent */
export function begun(
  base: string,
  body: object,
  path = '/chat/completions',
): { readonly response: Promise<IncomingMessage>; readonly leave: () => void } {
  const asked = request(`${base}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' } });
  const response = once(asked, 'response').then(([reply]) => reply as IncomingMessage);
  // Who leaves does not wait for it.
  response.catch(() => undefined);
  asked.on('error', () => undefined).end(JSON.stringify(body));
  return { response, leave: () => asked.destroy() };
}

/** Makes a call of the program and reads its answer to the end, whatever that is. */
export async function got(base: string, body: object, path?: string): Promise<Got> {
  let reply: IncomingMessage;
  try {
    reply = await begun(base, body, path).response;
  } catch {
    return { status: null, body: '', cut: true };
  }
  let text = '';
  try {
    for await (const piece of reply as AsyncIterable<Buffer>) {
      text += piece.toString();
    }
    return { status: reply.statusCode ?? null, body: text, cut: false };
  } catch {
    return { status: reply.statusCode ?? null, body: text, cut: true };
  }
}
