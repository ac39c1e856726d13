/** Training in less memory at a vocabulary of published size. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Generator } from '../../../../../src/runtime/generate/generate.ts';
import type { TransformerConfig } from '../../../../../src/runtime/model/transformer.ts';
import { headChunks } from '../../../../../src/runtime/train/graph/pack.ts';
import { Trainer } from '../../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../../src/runtime/train/trainingState.ts';
import { DEVICE, request, RUNNING, testParameters, TINY } from '../../../../unit/runtime/models.ts';
import { present, range, testKey } from '../../../../unit/runtime/nd.ts';

const config: TransformerConfig = { ...TINY, vocabularySize: 151_936, hiddenSize: 8, layers: 2 };
const flat = testParameters(config).map((value) => 0.5 * value);

it('sampler, scorer and trainer agree bit for bit, and computing again changes no weight', async () => {
  const requests = range(60).map((index) =>
    request(`context ${index % 6}`, 3 + (index % 6), 8, { endToken: -1, streamKey: testKey('wide', index) }),
  );
  const generator = await Generator.create(config, DEVICE);
  const completions = await generator.generate(flat, requests, RUNNING);
  await generator.release();
  const contexts = requests.map(({ prompt }, index) => {
    const { tokens, logprobs } = present(completions[index]);
    return {
      prompt,
      messages: [
        {
          tokens,
          behaviour: logprobs,
          reference: logprobs,
          advantages: Float32Array.from(tokens, (token) => (token % 2 === 0 ? 1 : -1)),
        },
      ],
    };
  });
  assert.equal(headChunks(60 * 8, config.vocabularySize), 8);
  const trainer = new Trainer(config, DEVICE);
  assert.deepEqual(
    await trainer.score(flat, contexts, 1, RUNNING.signal),
    contexts.map(({ messages }) => messages.map(({ behaviour }) => behaviour)),
  );
  const step = (recompute: boolean) =>
    trainer.step(
      initialState(flat),
      contexts,
      { loss: 'ppo', learningRate: 1e-3, temperature: 1, klCoefficient: 0.1, recompute },
      RUNNING.signal,
    );
  const [kept, again] = [await step(false), await step(true)];
  assert.deepEqual({ deviation: kept.ratioDeviation, kl: kept.kl }, { deviation: 0, kl: 0 });
  assert.ok(kept.gradientNorm > 0);
  assert.deepEqual(again, kept);
  await trainer.release();
});
