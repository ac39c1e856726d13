/**
 * The memory plan: what it counts, what it grows with, and which settings it finds. Real runs were measured beside it;
 * these tests keep its structure.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  availableCacheBytes,
  findLackingPlace,
  largestMicroBatch,
  planMemory,
  listSavings,
  type MemoryDemand,
  type TrainingDemand,
} from '../../../src/runtime/memoryPlan.ts';
import { adapterParameterCount } from '../../../src/runtime/model/lora.ts';
import { ADAPTER_MODULES } from '../../../src/runtime/model/transformer.ts';
import type { TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import { packContexts } from '../../../src/runtime/train/graph/pack.ts';
import { context, TINY } from './models.ts';
import { range } from './nd.ts';

/** Qwen2.5-0.5B-Instruct as published: 494,032,768 parameters, 12 KiB of keys and values per token in bfloat16. */
const HALF_BILLION: TransformerConfig = {
  vocabularySize: 151936,
  hiddenSize: 896,
  intermediateSize: 4864,
  layers: 24,
  heads: 14,
  keyValueHeads: 2,
  headDim: 64,
  rmsEpsilon: 1e-6,
  ropeTheta: 1e6,
  maxPositions: 32768,
  tieEmbeddings: true,
  attentionBias: true,
};
const PARAMETERS = 494_032_768;
const UNKNOWN = { host: null, device: null };
const ADAPTER = { rank: 16, alpha: 32, targetModules: ADAPTER_MODULES };

const TRAINING: TrainingDemand = {
  adapter: null,
  adapters: 1,
  microBatchTokens: 2048,
  recompute: false,
  contexts: [{ contexts: 32, messages: 4, promptTokens: 300, newTokens: 64 }],
};
const DEMAND: MemoryDemand = {
  config: HALF_BILLION,
  precision: 'float32',
  accelerated: false,
  generation: [{ rows: 32, prompts: 8, promptTokens: 300, newTokens: 64 }],
  training: TRAINING,
};

const item = (demand: MemoryDemand, name: string): number =>
  planMemory(demand, UNKNOWN)
    .items.filter((each) => each.name.startsWith(name))
    .reduce((total, { bytes }) => total + bytes, 0);
const hostBytes = (demand: MemoryDemand): number =>
  planMemory(demand, UNKNOWN).totals.find(({ place }) => place === 'host')?.bytes ?? NaN;
const training = (change: Partial<TrainingDemand>): MemoryDemand => ({
  ...DEMAND,
  training: { ...TRAINING, ...change },
});

describe('what is counted', () => {
  it('whole distributions where a penalty compares them', () => {
    const small = { ...DEMAND, config: { ...HALF_BILLION, vocabularySize: 8192 } };
    const name = 'Distributions of the exact KL';
    assert.equal(item(small, name), 0);
    const { targets } = largestMicroBatch(small.config, TRAINING.contexts, TRAINING.microBatchTokens);
    const counted = item({ ...small, training: { ...TRAINING, exact: true } }, name);
    // A run of 1,600 targets took 6.3 such arrays more than one without.
    assert.ok(counted > 6.3 * targets * 8192 * 4 && counted < 7 * targets * 8192 * 4);
  });

  it('two bytes for a weight that is held in float16, and what a product converts of it to float32', () => {
    const adapted = { ...training({ adapter: ADAPTER }), precision: 'float16' as const };
    assert.equal(
      item(adapted, 'Weights (float16)') - (item(training({ adapter: ADAPTER }), 'Weights') - 4 * PARAMETERS),
      2 * PARAMETERS,
    );
    assert.ok(item(adapted, 'Weights converted to float32 for a product') >= 4 * 151936 * 896);
    assert.equal(item({ ...adapted, accelerated: true }, 'Weights converted to float32 for a product'), 0);
    const { config } = DEMAND;
    const narrow = { ...config, vocabularySize: 4096 };
    assert.ok(
      hostBytes({ ...adapted, config: narrow }) < hostBytes({ ...training({ adapter: ADAPTER }), config: narrow }),
    );
  });

  it('weights and moments in float32: three sets and two moments where all is trained', () => {
    assert.equal(item(DEMAND, 'Weights'), 3 * 4 * PARAMETERS);
    assert.equal(item(DEMAND, 'Optimizer'), 2 * 4 * PARAMETERS);
    assert.ok(item(DEMAND, 'Gradients') >= 4 * PARAMETERS);
  });

  it('one set of the weights under adapters, and their factors beside them', () => {
    const factors = adapterParameterCount(HALF_BILLION, ADAPTER);
    const demand = training({ adapter: ADAPTER, adapters: 2 });
    assert.equal(item(demand, 'Weights'), 4 * PARAMETERS + 3 * 4 * 2 * factors);
    assert.equal(item(demand, 'Optimizer'), 2 * 4 * 2 * factors);
    assert.ok(item(demand, 'Gradients') < 0.1 * item(DEMAND, 'Gradients'));
  });

  it('the cache of the rows that fit: the published 12 KiB per token twice over', () => {
    const cache = (rows: number): number =>
      item({ ...DEMAND, generation: [{ rows, prompts: 1, promptTokens: 100, newTokens: 28 }] }, 'Key-value cache');
    assert.equal(cache(10), 10 * 128 * 2 * 12 * 1024);
    assert.equal(cache(10_000), 85 * 128 * 2 * 12 * 1024, 'no more than 256 MiB');
  });

  it('a larger cache where more memory is given, up to 256 rows', () => {
    const generation = [{ rows: 10_000, prompts: 1, promptTokens: 100, newTokens: 28 }];
    const cache = (cacheBytes: number): number => item({ ...DEMAND, generation, cacheBytes }, 'Key-value cache');
    assert.equal(cache(2 ** 29), 170 * 128 * 2 * 12 * 1024);
    assert.equal(cache(2 ** 40), 256 * 128 * 2 * 12 * 1024);
  });

  it('a share of what a plan leaves, for the cache', () => {
    const { bytes = NaN } = planMemory(DEMAND, UNKNOWN).totals[0] ?? {};
    const room = (host: number | null): number =>
      availableCacheBytes(planMemory(DEMAND, { host, device: null }), false, 0.5);
    assert.equal(room(bytes + 4e9), 2 ** 28 + 2e9);
    assert.deepEqual([room(bytes), room(bytes - 1), room(null)], [2 ** 28, 2 ** 28, 2 ** 28], 'nothing is left');
    // There are two caches at a time on an accelerator, and its memory is what counts.
    const accelerated = { ...DEMAND, accelerated: true };
    const device = planMemory(accelerated, UNKNOWN).totals.find(({ place }) => place === 'device')?.bytes ?? NaN;
    const there = planMemory(accelerated, { host: 1e12, device: device + 4e9 });
    assert.equal(availableCacheBytes(there, true, 0.5), 2 ** 28 + 1e9);
  });

  it('logits of training one chunk at a time', () => {
    assert.ok(item(DEMAND, 'Logits') <= 1.15 * 3 * 64 * 2 ** 20 + 1);
    assert.ok(item(DEMAND, 'Logits') > 0);
  });

  it('nothing of training where nothing is trained', () => {
    const names = planMemory({ ...DEMAND, training: null }, UNKNOWN).items.map(({ name }) => name);
    assert.deepEqual(names, [
      'Program and store',
      'Tables of positions',
      'Weights (float32)',
      'Key-value cache',
      'Generation',
    ]);
  });

  it('on an accelerator the work is in its memory, and the host keeps the weights', () => {
    const { items, totals } = planMemory({ ...DEMAND, accelerated: true }, { host: 1e9, device: 80e9 });
    assert.deepEqual(
      items.filter(({ place }) => place === 'host').map(({ name }) => name),
      ['Program and store', 'Copies of weights for loading and saving'],
    );
    assert.deepEqual(
      totals.map(({ place, fits }) => [place, fits]),
      [
        ['device', true],
        ['host', false],
      ],
    );
    for (const { place, bytes } of totals) {
      assert.equal(
        bytes,
        items.filter((each) => each.place === place).reduce((total, each) => total + each.bytes, 0),
      );
    }
  });
});

describe('the largest micro-batch', () => {
  const micro = (prompt: number, fresh: number, messages: number, contexts: number, most: number): void => {
    const packed = packContexts(
      TINY,
      range(contexts).map((index) => context(String(index), prompt, ...range(messages).map(() => fresh))),
      most,
      1,
    );
    const largest = Math.max(...packed.map(({ slots }) => slots));
    const targets = Math.max(...packed.map((batch) => batch.targets));
    const planned = largestMicroBatch(TINY, [{ contexts, messages, promptTokens: prompt, newTokens: fresh }], most);
    assert.equal(planned.slots, largest);
    assert.ok(planned.targets >= targets && planned.targets <= 1.1 * targets + 2, `${planned.targets} for ${targets}`);
  };

  it('is the one that packing makes of rows that are alike', () => {
    micro(20, 8, 4, 12, 256);
    micro(9, 8, 1, 40, 128);
    micro(20, 16, 2, 1, 512);
    micro(40, 8, 3, 30, 16);
  });

  it('is no smaller than any that packing makes of shorter rows', () => {
    const contexts = range(40).map((index) =>
      context(`mixed ${index}`, 1 + (index % 30), ...range(1 + (index % 4)).map(() => 1 + (index % 9))),
    );
    const planned = largestMicroBatch(TINY, [{ contexts: 40, messages: 4, promptTokens: 30, newTokens: 9 }], 200);
    for (const { feeds, slots } of packContexts(TINY, contexts, 200, 1)) {
      assert.ok(Number(feeds['tokens']?.dims[1]) <= planned.time);
      assert.ok(slots <= 200);
    }
  });
});

describe('what it grows with', () => {
  const grows = (what: string, smaller: MemoryDemand, larger: MemoryDemand, strictly = true): void => {
    it(what, () => {
      assert.ok(
        hostBytes(larger) >= hostBytes(smaller) + (strictly ? 1 : 0),
        `${hostBytes(smaller)} and ${hostBytes(larger)}`,
      );
    });
  };
  const withConfig = (change: Partial<TransformerConfig>): MemoryDemand => ({
    ...DEMAND,
    config: { ...HALF_BILLION, ...change },
  });
  grows('layers', withConfig({ layers: 12 }), DEMAND);
  grows('hidden size', withConfig({ hiddenSize: 448 }), DEMAND);
  grows('vocabulary', withConfig({ vocabularySize: 32000 }), DEMAND);
  grows('untied embeddings', DEMAND, withConfig({ tieEmbeddings: false }));
  grows('positions', withConfig({ maxPositions: 4096 }), DEMAND);
  grows('slots of a micro-batch', training({ microBatchTokens: 512 }), DEMAND);
  grows('prompts', training({ contexts: [{ contexts: 32, messages: 4, promptTokens: 100, newTokens: 64 }] }), DEMAND);
  grows('activations that are kept', training({ recompute: true }), DEMAND);
  grows('rank', training({ adapter: { ...ADAPTER, rank: 8 } }), training({ adapter: ADAPTER }));
  grows('what is trained', training({ adapter: ADAPTER }), DEMAND);
  grows('training at all', { ...DEMAND, training: null }, training({ adapter: ADAPTER }));
  grows(
    'messages that are generated together',
    { ...DEMAND, generation: [{ rows: 4, prompts: 4, promptTokens: 300, newTokens: 64 }] },
    DEMAND,
  );
  grows(
    'a call that is smaller than another changes nothing',
    DEMAND,
    { ...DEMAND, generation: [...DEMAND.generation, { rows: 1, prompts: 1, promptTokens: 10, newTokens: 1 }] },
    false,
  );
});

describe('what to change', () => {
  const levers = [
    { changes: [{ setting: 'nothing', demand: DEMAND }] },
    {
      changes: [
        { setting: 'less', demand: training({ microBatchTokens: 1024 }) },
        { setting: 'least', demand: training({ microBatchTokens: 512 }) },
      ],
    },
    { changes: [{ setting: 'adapter', demand: training({ adapter: ADAPTER }) }] },
  ];

  it('nothing where it fits, or where nobody knows what there is', () => {
    assert.equal(findLackingPlace(planMemory(DEMAND, UNKNOWN)), null);
    assert.deepEqual(listSavings(DEMAND, UNKNOWN, levers), []);
    assert.deepEqual(listSavings(DEMAND, { host: 1e12, device: null }, levers), []);
  });

  it('the most effective first, each saving what the plan with it needs less', () => {
    const found = listSavings(DEMAND, { host: 1e9, device: null }, levers);
    assert.deepEqual(
      found.map(({ setting }) => setting),
      ['adapter', 'least'],
    );
    assert.deepEqual(
      found.map(({ bytes }) => bytes),
      [
        hostBytes(DEMAND) - hostBytes(training({ adapter: ADAPTER })),
        hostBytes(DEMAND) - hostBytes(training({ microBatchTokens: 512 })),
      ],
    );
    assert.ok(found.every(({ enough }) => !enough));
  });

  it('no larger a change than is enough', () => {
    const found = listSavings(DEMAND, { host: hostBytes(training({ microBatchTokens: 1024 })), device: null }, levers);
    assert.deepEqual(
      found.map(({ setting, enough }) => [setting, enough]),
      [
        ['adapter', true],
        ['less', true],
      ],
    );
  });
});
