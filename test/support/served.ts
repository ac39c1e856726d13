/** A bundled team behind `c3 serve`, as other programs reach it. */
import { once } from 'node:events';
import { z } from 'zod';
import { keyVariable } from '../../src/shared/endpointKeys.ts';
import { finished, startC3 } from '../unit/engine/workspace.ts';

export interface Served {
  readonly url: string;
  readonly key: string;
  readonly close: () => Promise<void>;
}

/** Starts it; its key is in the environment, where policies look for it. @param task whose team it is */
export async function serveTeam(folder: string, task: string): Promise<Served> {
  const server = startC3(folder, ['serve', '--json', '--task', task]);
  const ended = finished(server);
  const early = ended.then(({ stderr }): never => {
    throw new Error(stderr);
  });
  early.catch(() => undefined);
  const [line] = (await Promise.race([once(server.stdout, 'data'), early])) as [Buffer];
  const { url, token } = z.looseObject({ url: z.string(), token: z.string() }).parse(JSON.parse(line.toString()));
  process.env[keyVariable(url) ?? ''] = token;
  const close = async (): Promise<void> => {
    server.kill('SIGINT');
    await ended;
  };
  return { url, key: token, close };
}
