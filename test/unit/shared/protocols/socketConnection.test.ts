import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createSocketConnection } from '../../../../src/shared/protocols/socketConnection.ts';

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('a socket that closes within a message leaves no timer behind, which would keep the process from ending', async () => {
  const server = createServer((socket) => socket.end('Content-Length: 100\r\n\r\n{"jsonrpc"'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const before = timers();
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const connection = createSocketConnection(socket);
  connection.listen();
  await once(socket, 'close');
  connection.dispose();
  assert.equal(timers(), before);
  server.close();
});
