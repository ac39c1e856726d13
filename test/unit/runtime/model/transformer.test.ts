import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Tensor } from 'onnxruntime-node';
import { z } from 'zod';
import { Generator } from '../../../../src/runtime/generate/generate.ts';
import type { FloatType } from '../../../../src/runtime/graph/graph.ts';
import { loadParameters, parameterCount } from '../../../../src/runtime/model/model.ts';
import {
  graphParameterSpecs,
  parameterSpecs,
  type TransformerConfig,
} from '../../../../src/runtime/model/transformer.ts';
import { packContexts } from '../../../../src/runtime/train/graph/pack.ts';
import { buildScoreGraph } from '../../../../src/runtime/train/graph/trainingGraph.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import {
  computeLogSoftmax,
  messageLogprobs,
  plainRow,
  referenceLogits,
} from '../../../support/referenceTransformer.ts';
import {
  context,
  DEVICE,
  LINEAR,
  LLAMA3,
  message,
  QWEN2,
  QWEN3,
  runGraph,
  RUNNING,
  scalar,
  testParameters,
  testTokens,
  TINY,
  weightsOf,
} from '../models.ts';
import { item, present, range } from '../nd.ts';

const CONFIGS: Readonly<Record<string, TransformerConfig>> = {
  'grouped heads and a tied head': TINY,
  'an untied head': { ...TINY, tieEmbeddings: false },
  'a key-value head for every query head': { ...TINY, keyValueHeads: 4 },
  'one key-value head': { ...TINY, keyValueHeads: 1, layers: 3 },
  'biases of queries, keys and values': QWEN2,
  'normalised heads': QWEN3,
  'normalised heads, each with a bias': { ...QWEN3, attentionBias: true, keyValueHeads: 4 },
  'frequencies scaled as in Llama 3': LLAMA3,
  'frequencies scaled linearly': LINEAR,
};

/** Score graph feeds of a micro-batch. */
function scoreFeeds(feeds: Readonly<Record<string, Tensor>>, temperature: number): Record<string, Tensor> {
  const names = ['tokens', 'positions', 'segments', 'slots', 'ones', 'selected', 'inverse', 'targets'];
  return { ...Object.fromEntries(names.map((name) => [name, present(feeds[name])])), temperature: scalar(temperature) };
}

/** Largest distance between a packed score graph and the reference, which sees every message alone. */
async function largestDistance(config: TransformerConfig, float: FloatType, temperature: number): Promise<number> {
  const flat = testParameters(config);
  const contexts = [context('a', 5, 3, 1, 6), context('b', 1, 2), context('c', 9, 4, 4)];
  const batch = present(packContexts(config, contexts, 1000, 0)[0]);
  assert.equal(batch.placements.length, 6);
  const logprobs = present(
    (await runGraph(buildScoreGraph(config, float), config, flat, scoreFeeds(batch.feeds, temperature)))['logprobs'],
  );
  let largest = 0;
  for (const placement of batch.placements) {
    const { prompt, messages } = present(contexts[placement.context]);
    const expected = messageLogprobs(
      config,
      weightsOf(config, flat),
      prompt,
      present(messages[placement.message]).tokens,
      temperature,
    );
    expected.forEach(
      (value, index) => (largest = Math.max(largest, Math.abs(value - item(logprobs, placement.start + index)))),
    );
  }
  return largest;
}

describe('the score graph against the reference transformer, packed against alone', () => {
  for (const [name, config] of Object.entries(CONFIGS)) {
    it(`${name}: float32`, async () => {
      const largest = await largestDistance(config, 'float32', 1);
      assert.ok(largest < 2e-5, String(largest));
    });
    it(`${name}: float64`, async () => {
      const largest = await largestDistance(config, 'float64', 1.75);
      assert.ok(largest < 1e-11, String(largest));
    });
  }
});

describe('parameters', () => {
  it('have the names, order and shapes of a Hugging Face checkpoint', () => {
    const specs = parameterSpecs({ ...TINY, layers: 1, tieEmbeddings: false });
    assert.deepEqual(
      specs.map(({ name, shape }) => `${name} ${shape.join('x')}`),
      [
        'model.embed_tokens.weight 22x16',
        'model.layers.0.input_layernorm.weight 16',
        'model.layers.0.self_attn.q_proj.weight 24x16',
        'model.layers.0.self_attn.k_proj.weight 12x16',
        'model.layers.0.self_attn.v_proj.weight 12x16',
        'model.layers.0.self_attn.o_proj.weight 16x24',
        'model.layers.0.post_attention_layernorm.weight 16',
        'model.layers.0.mlp.gate_proj.weight 24x16',
        'model.layers.0.mlp.up_proj.weight 24x16',
        'model.layers.0.mlp.down_proj.weight 16x24',
        'model.norm.weight 16',
        'lm_head.weight 22x16',
      ],
    );
  });

  it('fill graphs with as many numbers as the checkpoint has', () => {
    for (const config of Object.values(CONFIGS)) {
      const inGraph = graphParameterSpecs(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
      assert.equal(inGraph, parameterCount(config));
      const joined = config.attentionBias === true ? 4 : 2;
      assert.equal(
        new Set(graphParameterSpecs(config).map(({ name }) => name)).size,
        parameterSpecs(config).length - joined * config.layers,
      );
    }
  });
});

// Made with transformers 5.18 from random weights; logits are rounded to five digits.
const FOLDER = join(import.meta.dirname, '../../../fixtures/golden/llama');
const expectedSchema = z.object({
  prompts: z.array(z.object({ ids: z.array(z.int()), last_logits: z.array(z.number()), greedy: z.array(z.int()) })),
  logprob: z.object({ prompt: z.array(z.int()), completion: z.array(z.int()), per_token: z.array(z.number()) }),
});
const LLAMA: TransformerConfig = {
  vocabularySize: 384,
  hiddenSize: 48,
  intermediateSize: 96,
  layers: 3,
  heads: 6,
  keyValueHeads: 2,
  headDim: 8,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 512,
  tieEmbeddings: false,
};

describe('a Llama checkpoint that Transformers has run', () => {
  let parameters: Float32Array;
  let expected: z.infer<typeof expectedSchema>;
  before(async () => {
    parameters = await loadParameters(LLAMA, join(FOLDER, 'model.safetensors'));
    expected = expectedSchema.parse(JSON.parse(await readFile(join(FOLDER, 'expected.json'), 'utf8')));
    assert.equal(expected.prompts.length, 6);
  });

  it('has the logits of the reference transformer', () => {
    const weights = weightsOf(LLAMA, parameters);
    for (const { ids, last_logits: last } of expected.prompts) {
      const logits = present(referenceLogits(LLAMA, weights, plainRow(ids)).at(-1));
      logits.forEach((value, token) => assert.ok(Math.abs(value - item(last, token)) < 2e-5));
    }
  });

  it('scores every next token as its logits say', async () => {
    // One message per token of the vocabulary, all on one packed context.
    const contexts = expected.prompts.map(({ ids }) => ({
      prompt: Int32Array.from(ids),
      messages: range(LLAMA.vocabularySize).map((token) => message(Int32Array.of(token))),
    }));
    const trainer = new Trainer(LLAMA, DEVICE);
    const scored = await trainer.score(parameters, contexts, 1, RUNNING.signal);
    await trainer.release();
    expected.prompts.forEach(({ last_logits: last }, index) => {
      computeLogSoftmax(last).forEach((value, token) =>
        assert.ok(Math.abs(value - item(present(scored[index]?.[token]), 0)) < 3e-5),
      );
    });
  });

  it('scores a completion', async () => {
    const { prompt, completion, per_token: perToken } = expected.logprob;
    const trainer = new Trainer(LLAMA, DEVICE);
    const scored = await trainer.score(
      parameters,
      [{ prompt: Int32Array.from(prompt), messages: [message(Int32Array.from(completion))] }],
      1,
      RUNNING.signal,
    );
    await trainer.release();
    assert.equal(perToken.length, 7);
    perToken.forEach((value, index) => assert.ok(Math.abs(value - item(present(scored[0]?.[0]), index)) < 2e-5));
  });

  it('continues greedily with the same tokens', async () => {
    const generator = await Generator.create(LLAMA, DEVICE);
    const requests = expected.prompts.map(({ ids, greedy }) => ({
      prompt: Int32Array.from(ids),
      maxNewTokens: greedy.length,
      endToken: 2,
      temperature: 0,
      topP: 1,
      topK: 0,
      streamKey: '',
    }));
    const completions = await generator.generate(parameters, requests, RUNNING);
    await generator.release();
    assert.deepEqual(
      completions.map(({ tokens }) => [...tokens]),
      expected.prompts.map(({ greedy }) => greedy),
    );
  });
});

describe('positions', () => {
  it('a longer context window changes nothing for a short text', async () => {
    const flat = testParameters(TINY);
    const contexts = [{ prompt: testTokens('window', 6), messages: [message(testTokens('window message', 5))] }];
    const scoreWith = async (maxPositions: number): Promise<Float32Array[][]> => {
      const trainer = new Trainer({ ...TINY, maxPositions }, DEVICE);
      const scored = await trainer.score(flat, contexts, 1, RUNNING.signal);
      await trainer.release();
      return scored;
    };
    assert.deepEqual(await scoreWith(16), await scoreWith(300));
  });
});
