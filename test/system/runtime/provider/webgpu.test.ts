/** Generation and training on a WebGPU device, here SwiftShader: shapes are tiny because it is slow. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { InferenceSession } from 'onnxruntime-node';
import { examineApart } from '../../../../src/engine/machine/probing.ts';
import { buildArrangeGraph, buildStepGraph } from '../../../../src/runtime/generate/deviceGraphs.ts';
import { heldOnDevice } from '../../../../src/runtime/session/deviceTensor.ts';
import { Generator, type Completion, type GenerationRequest } from '../../../../src/runtime/generate/generate.ts';
import { buildPrefillGraph } from '../../../../src/runtime/generate/generationGraph.ts';
import { ModelHost } from '../../../../src/runtime/host.ts';
import { saveModel } from '../../../../src/runtime/model/model.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { initialState, type StepSettings, type TrainingState } from '../../../../src/runtime/train/trainingState.ts';
import { ADAMW, buildScoreGraph, buildUpdateGraph } from '../../../../src/runtime/train/graph/trainingGraph.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import type { DeviceSettings } from '../../../../src/runtime/session/session.ts';
import { useSwiftShader } from '../../../support/swiftShader.ts';
import { context, request, RUNNING, testParameters, TINY } from '../../../unit/runtime/models.ts';
import { range } from '../../../unit/runtime/nd.ts';
import { abortedWhen } from '../../../support/signals.ts';
import { sampleOf } from '../../../support/scale.ts';

const WEBGPU: DeviceSettings = { threads: 1, provider: 'webgpu' };
const CPU: DeviceSettings = { threads: 1 };
const CONFIG: TransformerConfig = { ...TINY, layers: 1, heads: 2, keyValueHeads: 1 };
const STEP: StepSettings = { loss: 'ppo', learningRate: 0.01, temperature: 1, klCoefficient: 0.1 };
const NEVER = new AbortController().signal;
/** Of batches. */
const SIZES = sampleOf([1, 2, 3, 5, 7, 9, 11, 13, 16, 20], 4);
const parameters = testParameters(CONFIG);

const contexts = ['a', 'b'].map((name, index) => {
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

let folder: string;
before(async () => {
  await useSwiftShader();
  folder = await mkdtemp(join(tmpdir(), 'c3-webgpu-'));
});
after(async () => {
  assert.deepEqual(heldOnDevice(), { tensors: 0, bytes: 0 });
  await rm(folder, { recursive: true, force: true });
});

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
    const { tensors } = heldOnDevice();
    let replayed = 0;
    for (const size of SIZES) {
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
    assert.equal(replayed, 20 * SIZES.length);
    assert.equal(heldOnDevice().tensors, tensors);
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
    await assert.rejects(generator.generate(parameters, requests, { signal: abortedWhen(() => ++asked > 3) }));
    const weights = heldOnDevice().tensors;
    await generator.generate(parameters, [request('short', 2, 1)], RUNNING);
    assert.equal(heldOnDevice().tensors, weights);
    await generator.release();
    assert.equal(heldOnDevice().tensors, 0);
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

describe('training on WebGPU', () => {
  // Shared by the tests that need no new one: compiling its shaders takes most of the time.
  const own = new Trainer(CONFIG, WEBGPU);

  it('takes the steps of the CPU, its moments staying on the device until they are asked for', async () => {
    const reference = new Trainer(CONFIG, CPU);
    let [here, there] = [initialState(parameters), initialState(parameters)];
    for (let step = 0; step < 2; step++) {
      const [a, b] = [await own.step(here, contexts, STEP, NEVER), await reference.step(there, contexts, STEP, NEVER)];
      for (const key of ['loss', 'kl', 'gradientNorm', 'ratioDeviation', 'clipFraction'] as const) {
        close(a[key] / (1 + Math.abs(b[key])), b[key] / (1 + Math.abs(b[key])));
      }
      [here, there] = [a.state, b.state];
      here.parameters.forEach((value, index) => close(value, there.parameters[index] ?? NaN));
    }
    assert.ok(here.momentum.every((value) => value === 0));
    await own.settle(here);
    for (const vector of ['momentum', 'variance'] as const) {
      here[vector].forEach((value, index) => close(value, there[vector][index] ?? NaN));
    }
    assert.ok(there.momentum.some((value) => Math.abs(value) > 1e-3));
    await reference.release();
  });

  it('sees the states that the CPU sees', async () => {
    const reference = new Trainer(CONFIG, CPU);
    const texts = contexts.map(({ prompt }) => prompt);
    const [a, b] = [
      await own.lastStates(parameters, texts, NEVER),
      await reference.lastStates(parameters, texts, NEVER),
    ];
    assert.equal(a.length, texts.length);
    a.forEach((state, index) => {
      state.forEach((value, place) => close(value, b[index]?.[place] ?? NaN));
    });
    await reference.release();
  });

  it('continues from arrays bit for bit as from the device', async () => {
    const again = new Trainer(CONFIG, WEBGPU);
    const { state } = await own.step(initialState(parameters), contexts, STEP, NEVER);
    await own.settle(state);
    const copy: TrainingState = {
      parameters: state.parameters.slice(),
      momentum: state.momentum.slice(),
      variance: state.variance.slice(),
      step: state.step,
    };
    const [a, b] = [await own.step(state, contexts, STEP, NEVER), await again.step(copy, contexts, STEP, NEVER)];
    assert.deepEqual(a.state.parameters, b.state.parameters);
    await own.settle(a.state);
    await again.settle(b.state);
    assert.deepEqual([a.state.momentum, a.state.variance], [b.state.momentum, b.state.variance]);
    await again.release();
  });

  it('a cancelled step leaves nothing behind', async () => {
    const state = initialState(parameters);
    await own.step(state, contexts, STEP, NEVER);
    const { tensors } = heldOnDevice();
    await assert.rejects(own.step(state, contexts, STEP, AbortSignal.abort()));
    assert.equal(heldOnDevice().tensors, tensors);
    await own.release();
    assert.equal(heldOnDevice().tensors, 0);
  });

  it('a host trains, freezes, saves and goes back to a checkpoint', async () => {
    await saveModel(folder, { config: CONFIG, parameters }, 'F32');
    const host = new ModelHost({ ...WEBGPU, name: 'SwiftShader' });
    assert.deepEqual([host.environment.provider, host.environment.device], ['webgpu', 'SwiftShader']);
    const { snapshot } = await host.load(folder);
    await host.beginTraining(snapshot);
    await host.step(contexts, STEP, NEVER);
    await host.saveCheckpoint(join(folder, 'checkpoint'));
    await host.step(contexts, STEP, NEVER);
    const straight = await host.freeze();
    await host.loadCheckpoint(join(folder, 'checkpoint'));
    await host.step(contexts, STEP, NEVER);
    assert.equal(await host.freeze(), straight);
    assert.equal((await host.generate(straight, [request('trained', 3, 4)], RUNNING)).length, 1);
    await host.close();
    assert.equal(heldOnDevice().tensors, 0);
  });

  it('so does one with an adapter for each agent, as on the CPU', async () => {
    await saveModel(folder, { config: CONFIG, parameters }, 'F32');
    const both = contexts.flatMap((one) => [
      { ...one, agent: 'reasoner' },
      { ...one, agent: 'actor' },
    ]);
    const observed = async (device: DeviceSettings): Promise<number[]> => {
      const host = new ModelHost(device);
      const { snapshot } = await host.load(folder);
      await host.beginTraining(snapshot, {
        settings: { rank: 2, alpha: 4, targetModules: ['q_proj', 'v_proj', 'down_proj'] },
        agents: ['reasoner', 'actor'],
        seed: 1,
      });
      const first = await host.step(both.slice(0, 1), STEP, NEVER);
      await host.saveCheckpoint(join(folder, 'agents'));
      await host.step(both, STEP, NEVER);
      const straight = await host.freeze();
      await host.loadCheckpoint(join(folder, 'agents'));
      await host.step(both, STEP, NEVER);
      assert.equal(await host.freeze(), straight);
      const scores = (await host.score(straight, both, 1, NEVER)).flat().flatMap((values) => [...values]);
      await host.close();
      return [first.loss, first.gradientNorm, ...scores];
    };
    const [there, here] = [await observed(WEBGPU), await observed({ threads: 1 })];
    there.forEach((value, index) => close(value, here[index] ?? NaN));
    assert.equal(heldOnDevice().tensors, 0);
  });
});

describe('the WebGPU provider in a process of its own', () => {
  it('passes its self-test', async () => {
    const report = await examineApart('webgpu', 1, false);
    assert.match(
      report.sentence,
      /^passed: 5 completions the same in two orders, sampler and trainer within \S+, within \S+ of the CPU, a training step within \S+$/,
    );
    assert.match(report.invariance ?? '', /^\d+ shapes, batches 1 to 64: 0 differing elements$/);
  });
});

const contentOf = ({ tokens, logprobs, finish }: Completion): unknown => ({ tokens, logprobs, finish });
const close = (a: number, b: number): void => {
  assert.ok(Math.abs(a - b) <= 1e-4, `${String(a)} is not ${String(b)}`);
};
