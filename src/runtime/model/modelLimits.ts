/** Checks of models that cannot be loaded or trained here. */

import { join } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import { formatBytes } from '../../shared/text/sizes.ts';
import { tableBytes } from '../memoryPlan.ts';
import { CONFIG_FILE } from './huggingFaceConfig.ts';
import type { ModelNumbers } from './model.ts';
import type { TransformerConfig } from './transformer.ts';

/**
 * Checks the memory for the tables of positions.
 * @throws C3Error('model') if max_position_embeddings needs more than is available
 */
export function checkTables(config: TransformerConfig, folder: string): void {
  const [needed, free] = [tableBytes(config), process.availableMemory()];
  if (needed <= free) {
    return;
  }
  const key = `max_position_embeddings: ${config.maxPositions}`;
  throw new C3Error(
    'model',
    `${join(folder, CONFIG_FILE)}: ${key} makes tables of ${formatBytes(needed)} where ${formatBytes(free)} of memory are available; lower it, because no text is that long.`,
  );
}

/**
 * Returns parameters that can be trained or saved.
 * @throws C3Error('model') for float16: trained and saved weights are float32
 */
export function requireTrainable(model: ModelNumbers): Float32Array {
  if (model instanceof Float32Array) {
    return model;
  }
  throw new C3Error(
    'model',
    'A float16 model cannot be trained or saved; train an adapter over it, or set device.precision: float32.',
  );
}
