/** A loopback server for the duration of a test. It reads each request completely, then answers. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * @param answer receives the parsed request body, or `{}` if the body is empty
 * @returns the base URL for clients of OpenAI-compatible servers
 */
export async function startAnsweringServer(
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
