/** Generation and training on a WebGPU device, here SwiftShader: shapes are tiny because it is slow. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { InferenceSession } from 'onnxruntime-node';
import { buildArrangeGraph, buildStepGraph } from '../../../../src/runtime/generate/deviceSessions.ts';
import { Generator, type Completion, type GenerationRequest } from '../../../../src/runtime/generate/generate.ts';
import { buildPrefillGraph } from '../../../../src/runtime/generate/generationGraph.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { countDeviceTensors } from '../../../../src/runtime/session/deviceTensor.ts';
import type { DeviceSettings } from '../../../../src/runtime/session/session.ts';
import { ADAMW, buildScoreGraph, buildUpdateGraph } from '../../../../src/runtime/train/graph/trainingGraph.ts';
import type { StepSettings } from '../../../../src/runtime/train/trainingState.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import { useSwiftShader } from '../../../support/swiftShader.ts';
import { context, request, RUNNING, testParameters, TINY } from '../../../unit/runtime/models.ts';
import { range } from '../../../unit/runtime/nd.ts';

export const WEBGPU: DeviceSettings = { threads: 1, provider: 'webgpu' };
export const CPU: DeviceSettings = { threads: 1 };
export const CONFIG: TransformerConfig = { ...TINY, layers: 1, heads: 2, keyValueHeads: 1 };
export const STEP: StepSettings = { loss: 'ppo', learningRate: 0.01, temperature: 1, klCoefficient: 0.1 };
export const NEVER = new AbortController().signal;
export const parameters = testParameters(CONFIG);

export const contexts = ['a', 'b'].map((name, index) => {
  const { prompt, messages } = context(name, 4 + index, 3, 2);
  return {
    prompt,
    messages: messages.map((message) => ({
      ...message,
      advantages: message.advantages.map((_, token) => 1 - (token % 3)),
      behaviour: message.behaviour.fill(-3),
      reference: message.reference.fill(-3.1),
    })),
  };
});

/** The device is there before the tests, and nothing is left on it after them. */
export function useDevice(): void {
  before(useSwiftShader);
  after(() => assert.deepEqual(countDeviceTensors(), { tensors: 0, bytes: 0 }));
}

/** @param sizes of batches in which everything is generated again */
export function generatesOnDevice(sizes: readonly number[]): void {
  describe('generation on WebGPU', () => {
    // Shared by the tests: compiling its shaders takes most of the time.
    let generator: Generator;
    before(async () => {
      generator = await Generator.create(CONFIG, WEBGPU);
    });

    it('gives the same tokens and log-probabilities in any batch and order, and leaves nothing but the weights on the device', async () => {
      // Twenty requests over twelve prompts: rows come, leave and move at different times.
      const requests = range(20).map((index) =>
        request(`replay ${index % 12}`, 1 + ((5 * index) % 12) * 2, 1 + ((3 * index) % 7), {
          streamKey: request(`stream ${index}`, 1, 1).streamKey,
        }),
      );
      const first = await generator.generate(parameters, requests, RUNNING);
      const { tensors } = countDeviceTensors();
      let replayed = 0;
      for (const size of sizes) {
        const order = range(20).sort((a, b) => ((a * 7 + size) % 20) - ((b * 7 + size) % 20));
        for (let start = 0; start < order.length; start += size) {
          const indices = order.slice(start, start + size);
          const again = await generator.generate(
            parameters,
            indices.map((index) => requests[index] as GenerationRequest),
            RUNNING,
          );
          assert.deepEqual(
            again.map(contentOf),
            indices.map((index) => contentOf(first[index] as Completion)),
          );
          replayed += again.length;
        }
      }
      assert.equal(replayed, 20 * sizes.length);
      assert.equal(countDeviceTensors().tensors, tensors);
      assert.ok(tensors > 0);
      const reference = await Generator.create(CONFIG, CPU);
      assert.deepEqual(
        (await reference.generate(parameters, requests, RUNNING)).map(({ tokens }) => tokens),
        first.map(({ tokens }) => tokens),
      );
      await reference.release();
    });

    it('gives the cache back when it is cancelled', async () => {
      let asked = 0;
      const requests = [request('long', 4, 20, { endToken: -1 }), request('longer', 4, 20, { endToken: -1 })];
      await assert.rejects(
        generator.generate(parameters, requests, { signal: makeSignalAbortedWhen(() => ++asked > 3) }),
      );
      const weights = countDeviceTensors().tensors;
      await generator.generate(parameters, [request('short', 2, 1)], RUNNING);
      assert.equal(countDeviceTensors().tensors, weights);
      await generator.release();
      assert.equal(countDeviceTensors().tensors, 0);
    });

    for (const [name, build] of [
      ['prefill', buildPrefillGraph],
      ['step', buildStepGraph],
      ['rearrangement', (config: TransformerConfig) => buildArrangeGraph(config, true)],
      ['score', buildScoreGraph],
      ['update', (config: TransformerConfig) => buildUpdateGraph(config, ADAMW)],
    ] as const) {
      it(`the ${name} graph runs on the device as a whole`, async () => {
        const session = await InferenceSession.create(build(TINY).toModel(), {
          executionProviders: ['webgpu'],
          logSeverityLevel: 3,
          extra: { session: { disable_cpu_ep_fallback: '1' } },
        });
        await session.release();
      });
    }
  });
}

const contentOf = ({ tokens, logprobs, finish }: Completion): unknown => ({ tokens, logprobs, finish });
export const close = (a: number, b: number): void => assert.ok(Math.abs(a - b) <= 1e-4, `${a} is not ${b}`);
