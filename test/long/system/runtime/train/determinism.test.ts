/**
 * Training gives the same bits every time: the gradient of a table adds up repeated rows in one order, whatever the
 * threads do.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadModel, parameterViews } from '../../../../../src/runtime/model/model.ts';
import type { TrainingContext } from '../../../../../src/runtime/train/graph/pack.ts';
import { Trainer } from '../../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../../src/runtime/train/trainingState.ts';

const ROUNDS = 5;

/** Contexts in which every token occurs many times, so that the rows of the embedding's gradient collide. */
const CONTEXTS: readonly TrainingContext[] = Array.from({ length: 16 }, (_, row) => ({
  prompt: Int32Array.from({ length: 50 + (row % 10) }, (__, position) => (7 * position + row) % 50),
  messages: [0, 1].map((message) => ({
    tokens: Int32Array.from({ length: 12 }, (__, position) => (3 * position + row + message) % 50),
    behaviour: new Float32Array(12).fill(-3),
    reference: new Float32Array(12).fill(-3),
    advantages: new Float32Array(12).fill(message === 0 ? 0.3 : -0.3),
  })),
}));

test('a training step of the bundled team has the same bits every time, with one thread and with two', async () => {
  const { config, parameters } = await loadModel(join('media', 'team'));
  const seen = new Map<string, Set<string>>();
  for (const threads of [1, 2]) {
    const trainer = new Trainer(config, { threads });
    for (let round = 0; round < ROUNDS; round++) {
      const { state } = await trainer.step(
        initialState(parameters),
        CONTEXTS,
        { loss: 'ppo', learningRate: 1e-4, temperature: 1, klCoefficient: 0.01 },
        new AbortController().signal,
      );
      for (const { name, offset, length } of parameterViews(config)) {
        const hash = createHash('sha256')
          .update(Buffer.from(state.momentum.slice(offset, offset + length).buffer))
          .digest('hex');
        seen.set(name, (seen.get(name) ?? new Set()).add(hash));
      }
    }
    await trainer.release();
  }
  const varying = [...seen].filter(([, hashes]) => hashes.size > 1).map(([name]) => name);
  assert.deepEqual(varying, []);
});
