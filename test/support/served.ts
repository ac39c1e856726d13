/** A bundled team that `c3 serve` makes available to other programs. */

import { once } from 'node:events';
import { z } from 'zod';
import { nameKeyVariable } from '../../src/shared/endpointKeys.ts';
import { finished, startC3 } from '../unit/engine/workspace.ts';

export interface Served {
  readonly url: string;
  readonly key: string;
  readonly close: () => Promise<void>;
}

/**
 * Starts the server and sets its key in the environment for policies.
 * @param task task of the team
 */
export async function serveTeam(folder: string, task: string): Promise<Served> {
  const server = startC3(folder, ['serve', '--json', '--task', task]);
  const ended = finished(server);
  const early = ended.then(({ stderr }): never => {
    throw new Error(stderr);
  });
  early.catch(() => undefined);
  const [line] = (await Promise.race([once(server.stdout, 'data'), early])) as [Buffer];
  const { url, token } = z.looseObject({ url: z.string(), token: z.string() }).parse(JSON.parse(line.toString()));
  process.env[nameKeyVariable(url) ?? ''] = token;
  const close = async (): Promise<void> => {
    server.kill('SIGINT');
    await ended;
  };
  return { url, key: token, close };
}
