/** The parts that Qwen2 and Qwen3 add, on a WebGPU device, here SwiftShader. */

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { InferenceSession } from 'onnxruntime-node';
import { buildStepGraph } from '../../../../../src/runtime/generate/deviceSessions.ts';
import { Generator, type Completion } from '../../../../../src/runtime/generate/generate.ts';
import { buildPrefillGraph } from '../../../../../src/runtime/generate/generationGraph.ts';
import type { TransformerConfig } from '../../../../../src/runtime/model/transformer.ts';
import type { DeviceSettings } from '../../../../../src/runtime/session/session.ts';
import { buildScoreGraph } from '../../../../../src/runtime/train/graph/trainingGraph.ts';
import { Trainer } from '../../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../../src/runtime/train/trainingState.ts';
import { useSwiftShader } from '../../../../support/swiftShader.ts';
import { context, request, RUNNING, testParameters, TINY } from '../../../../unit/runtime/models.ts';
import { range } from '../../../../unit/runtime/nd.ts';

const WEBGPU: DeviceSettings = { threads: 1, provider: 'webgpu' };
const CPU: DeviceSettings = { threads: 1 };
/** Both at once; the larger of the shapes that are quick there. */
const CONFIG: TransformerConfig = { ...TINY, attentionBias: true, queryKeyNorm: true };
const parameters = testParameters(CONFIG);

before(useSwiftShader);

describe('biases and normalised heads on WebGPU', () => {
  it('run on the device as whole graphs', async () => {
    for (const build of [buildPrefillGraph, buildStepGraph, (config: TransformerConfig) => buildScoreGraph(config)]) {
      const session = await InferenceSession.create(build(CONFIG).toModel(), {
        executionProviders: ['webgpu'],
        logSeverityLevel: 3,
        extra: { session: { disable_cpu_ep_fallback: '1' } },
      });
      await session.release();
    }
  });

  it('give the tokens of the CPU, and the same bits in any batch', async () => {
    const requests = range(6).map((index) => request(`family ${index}`, 2 + 3 * index, 5, { endToken: -1 }));
    const [own, reference] = [await Generator.create(CONFIG, WEBGPU), await Generator.create(CONFIG, CPU)];
    const together = await own.generate(parameters, requests, RUNNING);
    const apart: Completion[] = [];
    for (const batch of [requests.slice(0, 1), requests.slice(1, 4), requests.slice(4)]) {
      apart.push(...(await own.generate(parameters, batch, RUNNING)));
    }
    assert.deepEqual(apart.map(contentOf), together.map(contentOf));
    assert.deepEqual(
      (await reference.generate(parameters, requests, RUNNING)).map(({ tokens }) => tokens),
      together.map(({ tokens }) => tokens),
    );
    await own.release();
    await reference.release();
  });

  it('learn as on the CPU', async () => {
    const step = async (device: DeviceSettings): Promise<Float32Array> => {
      const trainer = new Trainer(CONFIG, device);
      const { state } = await trainer.step(
        initialState(parameters),
        [context('a', 4, 3, 2)],
        { loss: 'supervised', learningRate: 0.01, temperature: 1, klCoefficient: 0 },
        RUNNING.signal,
      );
      await trainer.download(state);
      await trainer.release();
      return state.momentum;
    };
    const [here, there] = [await step(WEBGPU), await step(CPU)];
    here.forEach((value, index) => assert.ok(Math.abs(value - (there[index] ?? NaN)) < 1e-5));
    assert.ok(there.some((value) => Math.abs(value) > 1e-3));
  });
});

const contentOf = ({ tokens, logprobs }: Completion): unknown => ({ tokens, logprobs });
