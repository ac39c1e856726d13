/** `c3 mcp`: a store for assistants, over standard input and output. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { mcpServer } from '../mcp/server.ts';
import { readArguments } from './arguments.ts';
import { STORE, storePath, withService, type CommandContext } from './support.ts';

/** Serves until its client leaves. */
export async function mcp(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('mcp', args, STORE, 0);
  await withService(storePath(parsed, context), async (service) => {
    const server = mcpServer(service);
    const ended = Promise.withResolvers<undefined>();
    const end = (): void => {
      ended.resolve(undefined);
    };
    process.stdin.once('end', end);
    context.signal.addEventListener('abort', end, { once: true });
    await server.connect(new StdioServerTransport());
    await ended.promise;
    await server.close();
  });
}
