/** Equal messages that are learned from at once teach what they teach one by one. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { TrainingContext } from '../../../../src/runtime/train/graph/pack.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../src/runtime/train/trainingState.ts';
import { type LossWeight, weightMessages } from '../../../../src/training/lossWeights.ts';
import { contextsFor, KL, TEMPERATURE } from '../losses.ts';
import { DEVICE, RUNNING, testParameters, TINY } from '../models.ts';

it('give the same loss and gradient, however tokens are weighed', async (t) => {
  const flat = testParameters(TINY);
  const given = contextsFor(TINY, flat).map((context, index) => ({ ...context, role: `role ${index % 2}` }));
  const counts = [3, 1, 2];
  const copied = (one: (message: TrainingContext['messages'][number], count: number) => TrainingContext['messages']) =>
    given.map((context) => ({
      ...context,
      messages: context.messages.flatMap((message, index) => one(message, counts[index % 3] ?? 1)),
    }));
  const single = copied((message, count) => Array.from({ length: count }, () => message));
  const once = copied((message, copies) => [{ ...message, copies }]);
  const trainer = new Trainer(TINY, DEVICE);
  t.after(() => trainer.release());
  for (const unit of [null, 'token', 'message', 'role'] as const satisfies readonly (LossWeight | null)[]) {
    const [one, other] = await Promise.all(
      [single, once].map(async (contexts) => {
        const settings = { loss: 'ppo', learningRate: 1e-3, temperature: TEMPERATURE, klCoefficient: KL } as const;
        return trainer.step(
          initialState(flat),
          unit === null ? contexts : weightMessages(contexts, unit),
          settings,
          RUNNING.signal,
        );
      }),
    );
    assert.ok(one !== undefined && other !== undefined);
    for (const key of ['loss', 'kl', 'gradientNorm', 'clipFraction'] as const) {
      assert.ok(Math.abs(one[key] - other[key]) < 1e-5 * Math.max(1, Math.abs(one[key])), `${String(unit)} ${key}`);
    }
    assert.equal(one.tokens, other.tokens);
  }
});
