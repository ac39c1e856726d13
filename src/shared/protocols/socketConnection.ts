/** JSON-RPC over a socket. */

import {
  createMessageConnection,
  SocketMessageReader,
  SocketMessageWriter,
  type MessageConnection,
} from 'vscode-jsonrpc/node';

type Socket = ConstructorParameters<typeof SocketMessageReader>[0];

/** Creates a connection over an open socket; the caller adds handlers and calls `listen`. */
export function createSocketConnection(socket: Socket): MessageConnection {
  const reader = new SocketMessageReader(socket);
  // The reader's timer reports a message that is slow to come. It is set again and again after the
  // socket has closed within a message, for example when an engine is killed, and would keep the
  // process from ending.
  reader.partialMessageTimeout = 0;
  return createMessageConnection(reader, new SocketMessageWriter(socket));
}
