/** `c3 serve`: a model folder at the OpenAI-compatible protocol until it is stopped. */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { readRendering } from '../../policy/rendering.ts';
import type { LineModel } from '../lines/lineModel.ts';
import { Batches } from './batches.ts';
import { ModelServer, type ModelServerSettings } from './modelServer.ts';

export interface Served {
  readonly url: string;
  readonly model: string;
  readonly snapshot: string;
}

/**
 * Serves a loaded model until the signal aborts.
 * @param name how requests name it
 * @param onListening hears where, once requests are answered
 * @throws C3Error where the port or the chat template cannot be had
 */
export async function serveModel(
  { folder, texts, runtime, tokenizer, info, snapshot }: LineModel,
  name: string,
  settings: Omit<ModelServerSettings, 'fingerprint'>,
  onListening: (served: Served) => void,
  signal: AbortSignal,
): Promise<void> {
  const rendering = await readRendering(folder, tokenizer, { template: 'auto', thinking: false });
  const render = texts.renderer(rendering, signal);
  const environment = hash('sha256', JSON.stringify(runtime.environment), 'hex');
  const server = new ModelServer(
    {
      name,
      config: info.config,
      tokenizer,
      chat: (messages) => render({ system: '', user: '', messages }),
      batches: new Batches(runtime, snapshot),
    },
    { ...settings, fingerprint: `c3_${snapshot.slice(0, 12)}_${environment.slice(0, 8)}` },
  );
  const url = await server.listen();
  try {
    onListening({ url, model: name, snapshot });
    if (!signal.aborted) {
      await once(signal, 'abort');
    }
  } finally {
    await server.close();
  }
}
