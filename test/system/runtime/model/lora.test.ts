/**
 * Adapters: what they compute, against the reference transformer with the weights that they represent; their gradients
 * against central differences of its loss; training over a frozen base.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Generator } from '../../../../src/runtime/generate/generate.ts';
import type { FloatType } from '../../../../src/runtime/graph/graph.ts';
import {
  parseAdapterModules,
  adapterSnapshotId,
  adapterViews,
  initialAdapter,
  WHOLE_TEAM,
  withAdapter,
} from '../../../../src/runtime/model/lora.ts';
import { loadModel, parameterViews, viewFeeds, type ParameterView } from '../../../../src/runtime/model/model.ts';
import {
  ADAPTER_MODULES,
  type AdapterSettings,
  type TransformerConfig,
} from '../../../../src/runtime/model/transformer.ts';
import { packContexts, type TrainingContext } from '../../../../src/runtime/train/graph/pack.ts';
import {
  accumulatedName,
  buildGradientGraph,
  gradientName,
  type LossKind,
} from '../../../../src/runtime/train/graph/trainingGraph.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import {
  initialState,
  type StepSettings,
  type TrainingState,
  selectPolicyWeights,
} from '../../../../src/runtime/train/trainingState.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { FAMILIES, folderOf } from '../../../unit/golden.ts';
import { along, contextsFor, feedsOf, slope, TEMPERATURE, tokensOf } from '../../../unit/runtime/losses.ts';
import {
  context,
  DEVICE,
  QWEN2,
  QWEN3,
  request,
  runGraph,
  RUNNING,
  testParameters,
  TINY,
} from '../../../unit/runtime/models.ts';
import { item, present, range, testKey, testStream, total } from '../../../unit/runtime/nd.ts';

const ALL: AdapterSettings = { rank: 3, alpha: 5, targetModules: ADAPTER_MODULES };
/** With a scale that is a power of two. */
const HALF: AdapterSettings = { ...ALL, rank: 4, alpha: 2 };
/** Numbers that are multiples of 1 / steps. */
const onGrid = (flat: Float32Array, steps: number): Float32Array =>
  flat.map((value) => Math.round(steps * value) / steps);
const BASE = 'the base';

/** Both factors away from 0. */
function testAdapter(config: TransformerConfig, settings: AdapterSettings): Float32Array {
  const flat = initialAdapter(config, settings, 1);
  return flat.map((value, index) => (value === 0 ? 0.2 * testStream('adapter').normal(index) : value));
}

const viewOf = (views: readonly ParameterView[], name: string): ParameterView =>
  present(views.find((view) => view.name === name));

/** W + (alpha / rank) B A in float64, one element after the other. */
function mergedReference(
  config: TransformerConfig,
  { rank, alpha, targetModules }: AdapterSettings,
  base: ArrayLike<number>,
  adapter: ArrayLike<number>,
): Float64Array {
  const result = Float64Array.from(base);
  const factors = adapterViews(config, { rank, alpha, targetModules });
  for (const { name, shape, offset } of parameterViews(config)) {
    if (!targetModules.some((module) => name.includes(`.${module}.weight`))) {
      continue;
    }
    const [outputs, inputs] = [present(shape[0]), present(shape[1])];
    const a = viewOf(factors, name.replace('.weight', '.lora_A.weight'));
    const b = viewOf(factors, name.replace('.weight', '.lora_B.weight'));
    for (let row = 0; row < outputs; row++) {
      for (let column = 0; column < inputs; column++) {
        let sum = 0;
        for (let inner = 0; inner < rank; inner++) {
          sum += item(adapter, b.offset + row * rank + inner) * item(adapter, a.offset + inner * inputs + column);
        }
        result[offset + row * inputs + column] = item(base, offset + row * inputs + column) + (alpha / rank) * sum;
      }
    }
  }
  return result;
}

/** Log-probabilities of every message token at a temperature, by the runtime. */
async function scored(
  config: TransformerConfig,
  settings: AdapterSettings,
  model: Float32Array,
  adapter: Float32Array,
  contexts: readonly TrainingContext[],
): Promise<number[]> {
  const trainer = new Trainer(withAdapter(config, settings), DEVICE);
  const scores = await trainer.score({ model, adapter }, contexts, TEMPERATURE, RUNNING.signal);
  await trainer.release();
  return scores.flat().flatMap((values) => [...values]);
}

const sized = (views: readonly ParameterView[]): number => total(views.map(({ length }) => length));

describe('an adapter', () => {
  it('has A [rank, in] and B [out, rank] of its target modules only, in checkpoint order', () => {
    const specs = adapterViews(TINY, { rank: 2, alpha: 4, targetModules: ['down_proj', 'k_proj'] }).map(
      ({ name, shape }) => [name, ...shape],
    );
    assert.deepEqual(specs, [
      ['model.layers.0.self_attn.k_proj.lora_A.weight', 2, 16],
      ['model.layers.0.self_attn.k_proj.lora_B.weight', 12, 2],
      ['model.layers.0.mlp.down_proj.lora_A.weight', 2, 24],
      ['model.layers.0.mlp.down_proj.lora_B.weight', 16, 2],
      ['model.layers.1.self_attn.k_proj.lora_A.weight', 2, 16],
      ['model.layers.1.self_attn.k_proj.lora_B.weight', 12, 2],
      ['model.layers.1.mlp.down_proj.lora_A.weight', 2, 24],
      ['model.layers.1.mlp.down_proj.lora_B.weight', 16, 2],
    ]);
  });

  it('begins with B 0 and A uniform in +-1 / sqrt(in), each A by a stream of its own', () => {
    const settings: AdapterSettings = { ...ALL, rank: 64 };
    const flat = initialAdapter(TINY, settings, 3);
    const firsts = new Set<number>();
    for (const { name, shape, offset, length } of adapterViews(TINY, settings)) {
      const values = flat.subarray(offset, offset + length);
      if (name.includes('lora_B')) {
        assert.ok(values.every((value) => value === 0));
        continue;
      }
      const bound = 1 / Math.sqrt(present(shape[1]));
      assert.ok(values.every((value) => Math.abs(value) <= bound));
      assert.ok(Math.abs(total(values) / length) < 0.1 * bound);
      // A uniform number in +-b has variance b^2 / 3.
      assert.ok(Math.abs(total(values.map((value) => value * value)) / length / ((bound * bound) / 3) - 1) < 0.1);
      firsts.add(item(values, 0) / bound);
    }
    assert.equal(firsts.size, 14);
    assert.deepEqual(initialAdapter(TINY, settings, 3), flat);
    assert.notDeepEqual(initialAdapter(TINY, settings, 4), flat);
  });

  for (const [name, config, settings] of [
    ['all modules', TINY, ALL],
    ['keys and the way back', QWEN2, { ...ALL, targetModules: ['k_proj', 'down_proj'] }],
    ['a rank beyond the width', QWEN3, { ...ALL, rank: 40 }],
  ] as const) {
    it(`computes with W + (alpha / rank) B A: ${name}`, async () => {
      const [base, adapter] = [testParameters(config), testAdapter(config, settings)];
      const [baseBefore, adapterBefore] = [base.slice(), adapter.slice()];
      const contexts = [context('a', 7, 5, 3), context('b', 4, 6)];
      const got = await scored(config, settings, base, adapter, contexts);
      const expected = tokensOf(config, mergedReference(config, settings, base, adapter), contexts).map(
        ({ now }) => now,
      );
      assert.equal(got.length, expected.length);
      got.forEach((value, index) =>
        assert.ok(Math.abs(value - item(expected, index)) < 2e-5, `${value} is not ${item(expected, index)}`),
      );
      const untouched = tokensOf(config, base, contexts).map(({ now }) => now);
      assert.ok(got.some((value, index) => Math.abs(value - item(untouched, index)) > 1e-2));
      assert.deepEqual([base, adapter], [baseBefore, adapterBefore]);
    });

    it(`is the base, bit for bit, where B is 0: ${name}`, async () => {
      const [base, contexts] = [testParameters(config), [context('a', 7, 5, 3), context('b', 4, 6)]];
      const plain = new Trainer(config, DEVICE);
      const alone = (await plain.score(base, contexts, TEMPERATURE, RUNNING.signal))
        .flat()
        .flatMap((values) => [...values]);
      assert.deepEqual(await scored(config, settings, base, initialAdapter(config, settings, 1), contexts), alone);
      await plain.release();
    });
  }

  it('is named by base, settings and numbers; by the base alone where it changes nothing', () => {
    const team = (flat: Float32Array): Map<string, Float32Array> => new Map([[WHOLE_TEAM, flat]]);
    const flat = testAdapter(TINY, ALL);
    const id = adapterSnapshotId(TINY, { settings: ALL, base: BASE }, team(flat));
    const other = flat.slice();
    other[0] = item(other, 0) + 1;
    const others = [
      adapterSnapshotId(TINY, { settings: ALL, base: 'another' }, team(flat)),
      adapterSnapshotId(TINY, { settings: { ...ALL, alpha: 6 }, base: BASE }, team(flat)),
      adapterSnapshotId(TINY, { settings: ALL, base: BASE }, team(other)),
      adapterSnapshotId(TINY, { settings: ALL, base: BASE }, team(initialAdapter(TINY, ALL, 1))),
      adapterSnapshotId(TINY, { settings: ALL, base: BASE }, new Map([['actor', flat]])),
      adapterSnapshotId(
        TINY,
        { settings: ALL, base: BASE },
        new Map([
          ['actor', flat],
          ['reasoner', other],
        ]),
      ),
      adapterSnapshotId(
        TINY,
        { settings: ALL, base: BASE },
        new Map([
          ['actor', other],
          ['reasoner', flat],
        ]),
      ),
    ];
    assert.equal(new Set([id, ...others]).size, 8);
    assert.equal(others[3], BASE);
    assert.equal(
      adapterSnapshotId(
        TINY,
        { settings: { ...ALL, targetModules: ADAPTER_MODULES.toReversed() }, base: BASE },
        team(flat),
      ),
      id,
    );
    assert.equal(
      adapterSnapshotId(
        TINY,
        { settings: ALL, base: BASE },
        new Map([
          ['reasoner', other],
          ['actor', flat],
        ]),
      ),
      others[5],
    );
  });

  it('refuses modules that it cannot change, by name', () => {
    assert.deepEqual(parseAdapterModules(['v_proj', 'q_proj'], 'x'), ['v_proj', 'q_proj']);
    const refuses = (names: string[], message: string): void =>
      assert.throws(
        () => parseAdapterModules(names, 'x'),
        (error) => error instanceof C3Error && error.kind === 'input' && error.message === message,
      );
    refuses(['q_proj', 'k_prj'], 'x: "k_prj" is not a target module; did you mean k_proj?');
    refuses(['embed_tokens'], `x: "embed_tokens" is not a target module; choose from ${ADAPTER_MODULES.join(', ')}.`);
    refuses([], `x: an adapter needs at least one target module; choose from ${ADAPTER_MODULES.join(', ')}.`);
  });
});

/** The gradient of a micro-batch by the adapter's numbers, from a graph of either float type. */
async function adapterGradient(
  kind: LossKind,
  config: TransformerConfig,
  settings: AdapterSettings,
  base: Float32Array,
  adapter: Float32Array,
  contexts: readonly TrainingContext[],
  float: FloatType,
): Promise<Float64Array> {
  const views = adapterViews(config, settings);
  const factors = {
    ...viewFeeds(views, adapter),
    ...viewFeeds(views, new Float32Array(adapter.length), accumulatedName),
  };
  const outputs = await runGraph(
    buildGradientGraph(withAdapter(config, settings), { loss: kind, float }),
    config,
    base,
    { ...factors, ...feedsOf(kind, config, contexts, 1 / tokensOf(config, base, contexts).length) },
  );
  assert.deepEqual(
    Object.keys(outputs)
      .filter((name) => name.startsWith('gradient.'))
      .sort(),
    views.map(({ name }) => gradientName(name)).sort(),
  );
  const flat = new Float64Array(adapter.length);
  for (const { name, offset } of views) {
    flat.set(present(outputs[gradientName(name)]), offset);
  }
  return flat;
}

/**
 * Compares along random directions, of each tensor alone or of all at once. Base and factors have so few digits that
 * the weights that they represent are float32 numbers.
 */
async function checkGradient(
  kind: LossKind,
  config: TransformerConfig,
  settings: AdapterSettings,
  parameters: Float32Array,
  float: FloatType,
  tolerance: number,
  parts: readonly Pick<ParameterView, 'name' | 'offset' | 'length'>[],
): Promise<void> {
  const [base, adapter] = [onGrid(parameters, 2 ** 12), onGrid(testAdapter(config, settings), 2 ** 6)];
  const contexts = contextsFor(config, Float32Array.from(mergedReference(config, settings, base, adapter)));
  const gradient = await adapterGradient(kind, config, settings, base, adapter, contexts, float);
  for (const { name, offset, length } of parts) {
    const stream = testStream(`direction ${name}`);
    const direction = Float64Array.from(adapter, (_, index) =>
      index >= offset && index < offset + length ? stream.normal(index - offset) : 0,
    );
    const expected = slope(kind, config, contexts, (distance) =>
      mergedReference(
        config,
        settings,
        base,
        Float64Array.from(adapter, (value, index) => value + distance * item(direction, index)),
      ),
    );
    const got = along(gradient, direction);
    assert.ok(Math.abs(expected) > 1e-6, name);
    assert.ok(Math.abs(got - expected) <= tolerance * Math.abs(expected), `${name}: ${got} is not ${expected}`);
  }
}

const whole = (
  config: TransformerConfig,
  settings: AdapterSettings,
): { readonly name: string; readonly offset: number; readonly length: number } => ({
  name: 'all',
  offset: 0,
  length: sized(adapterViews(config, settings)),
});

describe('the gradient of an adapter', () => {
  for (const kind of ['ppo', 'supervised'] as const) {
    for (const [name, config] of Object.entries({ TINY, QWEN2, QWEN3 })) {
      it(`${kind}, ${name}: every tensor`, () =>
        checkGradient(kind, config, HALF, testParameters(config), 'float32', 2e-3, adapterViews(config, HALF)));
      it(`${kind}, ${name}: all at once, in a float64 graph, far closer`, () =>
        checkGradient(kind, config, HALF, testParameters(config), 'float64', 1e-6, [whole(config, HALF)]));
    }
    for (const targetModules of [
      ['q_proj', 'v_proj'],
      ['k_proj'],
      ['o_proj', 'down_proj'],
      ['gate_proj', 'up_proj'],
    ] as const) {
      const settings = { ...HALF, targetModules };
      it(`${kind}, of ${targetModules.join(' and ')} alone`, () =>
        checkGradient(kind, QWEN2, settings, testParameters(QWEN2), 'float32', 2e-3, adapterViews(QWEN2, settings)));
    }
  }

  for (const family of FAMILIES) {
    it(`ppo, on the ${family} checkpoint`, async () => {
      const { config, parameters } = await loadModel(folderOf(family));
      await checkGradient('ppo', config, HALF, parameters, 'float64', 1e-6, [whole(config, HALF)]);
    });
  }
});

describe('training an adapter', () => {
  const settings: AdapterSettings = { rank: 2, alpha: 4, targetModules: ['q_proj', 'v_proj', 'down_proj'] };
  const ppo: StepSettings = { loss: 'ppo', learningRate: 0.02, temperature: 0.75, klCoefficient: 0.1 };

  for (const [name, config] of Object.entries({ TINY, QWEN2, QWEN3 })) {
    it(`${name}: samples and trains on the same bits, and leaves the base as it is`, async () => {
      const base = testParameters(config);
      const before = base.slice();
      const [trainer, plain] = [new Trainer(withAdapter(config, settings), DEVICE), new Trainer(config, DEVICE)];
      const generator = await Generator.create(withAdapter(config, settings), DEVICE);
      const sample = async (state: TrainingState): Promise<TrainingContext[]> => {
        const requests = range(4).map((index) =>
          request(`context`, 6, 8, { endToken: -1, temperature: ppo.temperature, streamKey: testKey('sample', index) }),
        );
        const completions = await generator.generate(selectPolicyWeights(state), requests, RUNNING);
        const messages = completions.map(({ tokens, logprobs }) => ({
          tokens,
          behaviour: logprobs,
          reference: logprobs,
          advantages: Float32Array.from(tokens, (token) => (token % 2 === 0 ? 1 : -1)),
        }));
        const contexts = [{ prompt: present(requests[0]).prompt, messages }];
        const reference = present((await plain.score(base, contexts, ppo.temperature, RUNNING.signal))[0]);
        return [
          {
            ...present(contexts[0]),
            messages: messages.map((one, index) => ({ ...one, reference: present(reference[index]) })),
          },
        ];
      };
      let state = initialState(initialAdapter(config, settings, 5), { settings, base: BASE, model: base });
      const divergences: number[] = [];
      for (const step of range(3)) {
        const result = await trainer.step(state, await sample(state), ppo, RUNNING.signal);
        assert.deepEqual(
          { ratioDeviation: result.ratioDeviation, clipFraction: result.clipFraction },
          { ratioDeviation: 0, clipFraction: 0 },
        );
        assert.ok(Number.isFinite(result.loss) && result.gradientNorm > 0);
        divergences.push(result.kl);
        state = result.state;
        assert.equal(state.step, step + 1);
        assert.deepEqual(state.adapter, { settings, base: BASE, model: before });
        assert.equal(state.parameters.length, sized(adapterViews(config, settings)));
        assert.equal(state.momentum.length, state.parameters.length);
      }
      assert.equal(divergences[0], 0);
      assert.ok(present(divergences[1]) > 0 && present(divergences[2]) > present(divergences[1]), String(divergences));
      assert.deepEqual(base, before);
      await generator.release();
      await trainer.release();
      await plain.release();
    });
  }

  it('learns: the loss of the same messages falls', async () => {
    const trainer = new Trainer(withAdapter(TINY, ALL), DEVICE);
    const contexts = [context('a', 4, 3, 2), context('b', 6, 5)];
    let state = initialState(initialAdapter(TINY, ALL, 5), { settings: ALL, base: BASE, model: testParameters(TINY) });
    const losses: number[] = [];
    for (const step of range(30)) {
      const result = await trainer.step(
        state,
        contexts,
        { loss: 'supervised', learningRate: 0.02, temperature: 1, klCoefficient: 0 },
        RUNNING.signal,
      );
      state = result.state;
      assert.equal(state.step, step + 1);
      losses.push(result.loss);
    }
    assert.ok(present(losses.at(-1)) < 0.3 * present(losses[0]), `${losses[0]} to ${losses.at(-1)}`);
    await trainer.release();
  });

  it('adds up over micro-batches as over one', async () => {
    const base = testParameters(TINY);
    const many = range(40).map((index) => context(`many ${index}`, 40, 20));
    const trainer = new Trainer(withAdapter(TINY, ALL), DEVICE);
    const state = initialState(testAdapter(TINY, ALL), { settings: ALL, base: BASE, model: base });
    const { gradientNorm } = await trainer.step(
      state,
      many,
      { loss: 'supervised', learningRate: 0.01, temperature: TEMPERATURE, klCoefficient: 0 },
      RUNNING.signal,
    );
    assert.ok(packContexts(TINY, many, 2048, 1).length > 1);
    const gradient = await adapterGradient('supervised', TINY, ALL, base, state.parameters, many, 'float64');
    assert.ok(Math.abs(gradientNorm - Math.sqrt(total(gradient.map((value) => value * value)))) < 1e-4 * gradientNorm);
    await trainer.release();
  });
});
