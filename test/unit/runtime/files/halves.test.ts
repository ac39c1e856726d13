/**
 * Weights that are held in float16: how they are rounded, and that a model with them computes what it computes with the
 * rounded numbers in float32.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { floatToHalf, halfToFloat } from '../../../../src/runtime/files/safetensors.ts';
import { roundToHalves } from '../../../../src/runtime/files/safetensorsFile.ts';
import { Generator } from '../../../../src/runtime/generate/generate.ts';
import { ModelHost } from '../../../../src/runtime/host.ts';
import { initialAdapter, withAdapter, withHalves, type PolicyWeights } from '../../../../src/runtime/model/lora.ts';
import { loadModel, saveModel } from '../../../../src/runtime/model/model.ts';
import {
  ADAPTER_MODULES,
  type AdapterSettings,
  type TransformerConfig,
} from '../../../../src/runtime/model/transformer.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { initialState, type StepSettings } from '../../../../src/runtime/train/trainingState.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { useSwiftShader } from '../../../support/swiftShader.ts';
import { FAMILIES, folderOf } from '../../golden.ts';
import { context, DEVICE, QWEN2, QWEN3, request, RUNNING, testParameters, TINY } from '../models.ts';
import { range, testStream } from '../nd.ts';

const NEVER = new AbortController().signal;
const ADAPTER: AdapterSettings = { rank: 3, alpha: 6, targetModules: ADAPTER_MODULES };
const STEP: StepSettings = { loss: 'supervised', learningRate: 0.02, temperature: 1, klCoefficient: 0 };
const CONTEXTS = [context('a', 4, 3, 2), context('b', 6, 5)];

let temporary = '';
before(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'c3-halves-'));
});
after(() => rm(temporary, { recursive: true, force: true }));

const rounded = (flat: Float32Array): Uint16Array => {
  const bits = new Uint16Array(flat.length);
  assert.ok(roundToHalves(flat, bits));
  return bits;
};

describe('roundInto', () => {
  it('gives the nearest float16 of every kind of number, ties to even', () => {
    const stream = testStream('bits');
    const random = new Float32Array(
      Uint32Array.from({ length: 50_000 }, (_, index) => Math.floor(stream.uniform(index) * 2 ** 32)).buffer,
    ).filter((value) => Math.abs(value) < 65520);
    // Every float16, what lies halfway to the next one, and the neighbours of that.
    const halves = Float32Array.from({ length: 0x7bff }, (_, bits) => halfToFloat(bits));
    const edges = [...halves].flatMap((value, index) => {
      const middle = (value + halfToFloat(index + 1)) / 2;
      return [value, -value, middle, -middle, middle * (1 + 2 ** -20), middle * (1 - 2 ** -20)];
    });
    const numbers = Float32Array.from([...random, ...edges, 0, -0, 65504, 65519.99]);
    const bits = new Uint16Array(numbers.length);
    assert.equal(roundToHalves(numbers, bits), true);
    const wrong = numbers.findIndex((value, index) => bits[index] !== floatToHalf(value));
    assert.equal(wrong, -1, String(numbers[wrong]));
  });

  it('reports numbers beyond its reach', () => {
    for (const value of [65520, -65520, 1e30]) {
      assert.equal(roundToHalves(Float32Array.of(1, value), new Uint16Array(2)), false);
    }
  });
});

describe('a model in float16', () => {
  for (const [name, config] of Object.entries({ TINY, QWEN2, QWEN3, untied: { ...QWEN3, tieEmbeddings: false } })) {
    it(`${name}: samples, scores and trains an adapter bit for bit as its numbers do in float32`, async () => {
      const bits = rounded(testParameters(config));
      const numbers = Float32Array.from(bits, halfToFloat);
      const observed = async (
        architecture: TransformerConfig,
        model: PolicyWeights & (Float32Array | Uint16Array),
      ): Promise<unknown> => {
        const adapted = withAdapter(architecture, ADAPTER);
        const generator = await Generator.create(architecture, DEVICE);
        const [plain, trainer] = [new Trainer(architecture, DEVICE), new Trainer(adapted, DEVICE)];
        const requests = range(5).map((index) => request(`halves ${index}`, 2 + 3 * index, 6));
        const completions = await generator.generate(model, requests, RUNNING);
        const scores = await plain.score(model, CONTEXTS, 0.75, NEVER);
        let state = initialState(initialAdapter(config, ADAPTER, 1), { settings: ADAPTER, base: 'base', model });
        const losses: number[] = [];
        for (const recompute of [false, true]) {
          const result = await trainer.step(state, CONTEXTS, { ...STEP, recompute }, NEVER);
          losses.push(result.loss, result.gradientNorm);
          state = result.state;
        }
        const { parameters } = state;
        const after = await trainer.score({ model, adapter: parameters }, CONTEXTS, 1, NEVER);
        for (const one of [generator, plain, trainer]) {
          await one.release();
        }
        return { completions, scores, losses, parameters, after };
      };
      assert.deepEqual(
        await observed(withHalves(config, { threads: 1, precision: 'float16' }), bits),
        await observed(config, numbers),
      );
    });

    it(`${name}: with products in float16, as accelerators have them, comes close`, async () => {
      const flat = testParameters(config);
      const trainer = new Trainer({ ...config, halves: 'computed' }, DEVICE);
      const exact = new Trainer(config, DEVICE);
      const [near, truth] = [
        await trainer.score(rounded(flat), CONTEXTS, 1, NEVER),
        await exact.score(flat, CONTEXTS, 1, NEVER),
      ];
      const differences = near
        .flat()
        .flatMap((values, message) =>
          [...values].map((value, index) => Math.abs(value - (truth.flat()[message]?.[index] ?? NaN))),
        );
      assert.ok(
        differences.every((difference) => difference < 0.05),
        String(Math.max(...differences)),
      );
      assert.ok(differences.some((difference) => difference > 0));
      await trainer.release();
      await exact.release();
    });
  }

  for (const family of FAMILIES) {
    it(`the ${family} checkpoint is read as what its numbers round to`, async () => {
      const { parameters, snapshot } = await loadModel(folderOf(family));
      const halves = await loadModel(folderOf(family), { precision: 'float16' });
      assert.deepEqual(halves.parameters, rounded(parameters));
      assert.notEqual(halves.snapshot, snapshot);
    });
  }

  it('is refused where a weight lies beyond its reach, by file and tensor', async () => {
    const folder = join(temporary, 'large');
    const parameters = testParameters(TINY);
    parameters[parameters.length - 1] = 70000;
    await saveModel(folder, { config: TINY, parameters }, 'F32');
    await assert.rejects(
      loadModel(folder, { precision: 'float16' }),
      (error) =>
        error instanceof C3Error &&
        /model\.safetensors: tensor \S+ holds a value outside the range of float16; set device\.precision: float32\.$/.test(
          error.message,
        ),
    );
    assert.equal((await loadModel(folder)).parameters.at(-1), 70000);
  });
});

describe('a runtime with float16', () => {
  const says =
    (pattern: RegExp) =>
    (error: unknown): boolean =>
      error instanceof C3Error && error.kind === 'model' && pattern.test(error.message);

  it('trains adapters, keeps and reloads them, and trains nothing else', async (t) => {
    const [folder, file, whole, checkpoint] = [
      join(temporary, 'model'),
      join(temporary, 'adapter.safetensors'),
      join(temporary, 'whole.safetensors'),
      join(temporary, 'checkpoint'),
    ];
    await saveModel(folder, { config: TINY, parameters: testParameters(TINY) }, 'F32');
    const [runtime, later, exact] = [
      new ModelHost({ ...DEVICE, precision: 'float16' }),
      new ModelHost({ ...DEVICE, precision: 'float16' }),
      new ModelHost(DEVICE),
    ];
    t.after(() => Promise.all([runtime, later, exact].map((one) => one.close())));
    const { snapshot: base } = await runtime.load(folder);
    await assert.rejects(runtime.beginTraining(base), says(/float16 model cannot be trained/));
    await runtime.beginTraining(base, { settings: ADAPTER, seed: 2 });
    await runtime.step(CONTEXTS, STEP, NEVER);
    await runtime.saveCheckpoint(checkpoint);
    await runtime.step(CONTEXTS, STEP, NEVER);
    const trained = await runtime.freeze();
    await runtime.saveSnapshot(trained, file);
    const scores = await runtime.score(trained, CONTEXTS, 1, NEVER);
    assert.equal((await later.load(folder)).snapshot, base);
    assert.equal(await later.loadSnapshot(file), trained);
    assert.deepEqual(await later.score(trained, CONTEXTS, 1, NEVER), scores);
    await later.loadCheckpoint(checkpoint);
    await later.step(CONTEXTS, STEP, NEVER);
    assert.equal(await later.freeze(), trained);
    const { snapshot } = await exact.load(folder);
    assert.notEqual(snapshot, base);
    await assert.rejects(exact.loadSnapshot(file), says(/which are not loaded/));
    await exact.saveSnapshot(snapshot, whole);
    await assert.rejects(later.loadSnapshot(whole), says(/loads adapters only; set device\.precision: float32/));
  });

  it('is refused on a device that cannot compute in it, in one sentence', async () => {
    await useSwiftShader();
    const folder = join(temporary, 'device');
    await saveModel(folder, { config: TINY, parameters: testParameters(TINY) }, 'F32');
    const host = new ModelHost({ threads: 1, provider: 'webgpu', name: 'SwiftShader', precision: 'float16' });
    await assert.rejects(
      host.load(folder),
      says(/^SwiftShader cannot compute in float16 \(.*does not support it.*\); set device\.precision: float32\.$/),
    );
    await host.close();
  });
});
