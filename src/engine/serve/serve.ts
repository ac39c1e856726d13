/** Implements `c3 serve`: serves a model folder by the OpenAI-compatible protocol. */

import { hash } from 'node:crypto';
import { readRendering } from '../../policy/rendering.ts';
import type { Held } from '../../shared/holds.ts';
import type { LineModel } from '../lines/lineModel.ts';
import { OpenRows } from './answering.ts';
import { ModelServer, type ModelServerSettings } from './modelServer.ts';

export interface Served {
  readonly url: string;
  readonly model: string;
  readonly snapshot: string;
}

/**
 * Serves a loaded model until it is disposed of.
 * @param name name in requests
 * @throws C3Error if the port is not available or the chat template cannot be read
 */
export async function openServer(
  { folder, texts, runtime, tokenizer, info, snapshot }: LineModel,
  name: string,
  settings: Omit<ModelServerSettings, 'fingerprint'>,
): Promise<Held<Served>> {
  const rendering = await readRendering(folder, tokenizer, { template: 'auto', thinking: false });
  const stopping = new AbortController();
  const render = texts.renderer(rendering, stopping.signal);
  const environment = hash('sha256', JSON.stringify(runtime.environment), 'hex');
  const server = new ModelServer(
    {
      name,
      config: info.config,
      tokenizer,
      chat: (messages) => render({ system: '', user: '', messages }),
      snapshot,
      runtime,
      openRows: new OpenRows(),
    },
    { ...settings, fingerprint: `c3_${snapshot.slice(0, 12)}_${environment.slice(0, 8)}` },
  );
  return {
    url: await server.listen(),
    model: name,
    snapshot,
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await server.close();
    },
  };
}
