/** What of a model cannot be held or trained here. */
import { join } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import { bytesWords } from '../../shared/text/sizes.ts';
import { tableBytes } from '../memoryPlan.ts';
import { CONFIG_FILE } from './huggingFaceConfig.ts';
import type { ModelNumbers } from './model.ts';
import type { TransformerConfig } from './transformer.ts';

/** @throws C3Error('model') where one number of config.json asks for more memory than there is */
export function checkTables(config: TransformerConfig, folder: string): void {
  const [needed, free] = [tableBytes(config), process.availableMemory()];
  if (needed <= free) {
    return;
  }
  const key = `max_position_embeddings: ${config.maxPositions}`;
  throw new C3Error(
    'model',
    `${join(folder, CONFIG_FILE)}: ${key} makes tables of ${bytesWords(needed)} where ${bytesWords(free)} of memory are available; lower it, because no text is that long.`,
  );
}

/** @throws C3Error('model') for numbers that are held in float16: what is trained or written is float32 */
export function trainable(model: ModelNumbers): Float32Array {
  if (model instanceof Float32Array) {
    return model;
  }
  throw new C3Error(
    'model',
    'A model that is held in float16 is not trained and not written; train an adapter over it, or set device.precision: float32.',
  );
}
