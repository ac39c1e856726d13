/** `c3 mcp`: serves a store to assistants over standard input and output. */

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { onAbort } from '../../shared/cancellation.ts';
import { createMcpServer } from '../mcp/server.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { MCP } from './declared/programs.ts';
import { withService } from './support.ts';

/** Serves until the client disconnects. */
export async function mcp(given: Given<typeof MCP>, context: CommandContext): Promise<void> {
  const { stdin, stdout } = context.streams;
  await withService(given, context, async (service) => {
    const server = createMcpServer(service);
    const ended = Promise.withResolvers<undefined>();
    const end = (): void => ended.resolve(undefined);
    stdin.once('end', end);
    const release = onAbort(context.signal, end);
    try {
      await server.connect(new StdioServerTransport(stdin, stdout));
      await ended.promise;
    } finally {
      stdin.off('end', end);
      release();
    }
    await server.close();
  });
}
