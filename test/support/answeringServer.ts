/** A server on loopback for as long as a test runs: each request is read whole, then answered. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * @param answer gets what was sent, parsed; `{}` where nothing was
 * @returns its base URL, as clients of OpenAI-compatible servers take it
 */
export async function answeringServer(
  t: TestContext,
  answer: (body: Readonly<Record<string, unknown>>, request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      answer(
        JSON.parse(Buffer.concat(pieces).toString() || '{}') as Readonly<Record<string, unknown>>,
        request,
        response,
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
