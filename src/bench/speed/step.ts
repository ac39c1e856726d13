/** The optimizer step that the suite train measures. */

import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import type { BareProducts } from '../../runtime/provider/products.ts';
import { packContexts } from '../../runtime/train/graph/pack.ts';
import { MICRO_BATCH_TOKENS, type Trainer } from '../../runtime/train/trainer.ts';
import { initialState } from '../../runtime/train/trainingState.ts';
import { STEP, makeTrainingRows } from './shape.ts';

export const SLOTS_PER_STEP = STEP.rows * STEP.length;

/**
 * Returns work that takes one optimizer step at each call: supervised loss on every position,
 * clipping and AdamW.
 */
export function makeStepWork(
  trainer: Trainer,
  config: TransformerConfig,
  parameters: Float32Array,
  signal: AbortSignal,
): () => Promise<unknown> {
  let state = initialState(parameters);
  const contexts = makeTrainingRows(config);
  return async () => {
    ({ state } = await trainer.step(
      state,
      contexts,
      { loss: 'supervised', learningRate: 1e-4, temperature: 1, klCoefficient: 0 },
      signal,
    ));
  };
}

/** Returns work that runs only the weight products of such a step, micro-batch by micro-batch. */
export function makeBareStepWork(bare: BareProducts, config: TransformerConfig): () => Promise<unknown> {
  const batches = packContexts(config, makeTrainingRows(config), MICRO_BATCH_TOKENS, 0);
  return async () => {
    for (const { slots, targets } of batches) {
      await bare.run(slots, targets);
    }
  };
}
