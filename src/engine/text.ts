/**
 * Entry of the process that works with the tokenizer and the chat template of one folder: `text
 * SECONDS`, the time limit of one request.
 */

import type { TextReply, TextRequest } from '../policy/textRequests.ts';
import { TextServer } from '../policy/textServer.ts';

if (process.send === undefined) {
  throw new Error('This file is the entry of a process that works with texts.');
}
const send = (reply: TextReply): void => {
  process.send?.(reply);
};
const server = new TextServer(Number(process.argv[2]), send);
// The parent disconnects when it is done, or when it ends.
process.once('disconnect', () => process.exit(0));
process.on('message', (request) => {
  server.receive(request as TextRequest);
});
send({ kind: 'ready' });
