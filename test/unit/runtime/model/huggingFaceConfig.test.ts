/** config.json in the layouts that the families were published with. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configToJson, parseConfig } from '../../../../src/runtime/model/huggingFaceConfig.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { C3Error } from '../../../../src/shared/errors.ts';

const parse = (json: object): TransformerConfig =>
  parseConfig(Buffer.from(JSON.stringify(json)), '/models/x/config.json');
const refuses = (json: object, says: RegExp): void => {
  assert.throws(
    () => parse(json),
    (error) =>
      error instanceof C3Error &&
      error.kind === 'model' &&
      error.message.startsWith('/models/x/config.json: ') &&
      says.test(error.message) &&
      /^[^\n]+\.$/.test(error.message),
    JSON.stringify(json),
  );
};

// As published with Qwen2.5-0.5B-Instruct (Transformers 4.43).
const QWEN25 = {
  architectures: ['Qwen2ForCausalLM'],
  attention_dropout: 0,
  bos_token_id: 151643,
  eos_token_id: 151645,
  hidden_act: 'silu',
  hidden_size: 896,
  initializer_range: 0.02,
  intermediate_size: 4864,
  max_position_embeddings: 32768,
  max_window_layers: 21,
  model_type: 'qwen2',
  num_attention_heads: 14,
  num_hidden_layers: 24,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000,
  sliding_window: 32768,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  use_cache: true,
  use_sliding_window: false,
  vocab_size: 151936,
};
const ROPE_3 = {
  factor: 32,
  high_freq_factor: 4,
  low_freq_factor: 1,
  original_max_position_embeddings: 8192,
  rope_type: 'llama3',
};
// As published with Llama-3.2-1B-Instruct.
const LLAMA32 = {
  architectures: ['LlamaForCausalLM'],
  attention_bias: false,
  attention_dropout: 0,
  bos_token_id: 128000,
  eos_token_id: [128001, 128008, 128009],
  head_dim: 64,
  hidden_act: 'silu',
  hidden_size: 2048,
  initializer_range: 0.02,
  intermediate_size: 8192,
  max_position_embeddings: 131072,
  mlp_bias: false,
  model_type: 'llama',
  num_attention_heads: 32,
  num_hidden_layers: 16,
  num_key_value_heads: 8,
  pretraining_tp: 1,
  rms_norm_eps: 1e-5,
  rope_scaling: ROPE_3,
  rope_theta: 500000,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  vocab_size: 128256,
};

describe('config.json', () => {
  it('of Qwen2.5: biases, and the width of a head from the others', () => {
    assert.deepEqual(parse(QWEN25), {
      vocabularySize: 151936,
      hiddenSize: 896,
      intermediateSize: 4864,
      layers: 24,
      heads: 14,
      keyValueHeads: 2,
      headDim: 64,
      rmsEpsilon: 1e-6,
      ropeTheta: 1000000,
      maxPositions: 32768,
      tieEmbeddings: true,
      attentionBias: true,
    });
  });

  it('of Llama 3.2: scaled frequencies, in the old layout and the new', () => {
    const scaling = {
      type: 'llama3',
      factor: 32,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalMaxPositions: 8192,
    };
    const { ropeScaling, ropeTheta, ...rest } = parse(LLAMA32);
    assert.deepEqual([ropeScaling, ropeTheta, rest.headDim], [scaling, 500000, 64]);
    assert.ok(!('attentionBias' in rest) && !('queryKeyNorm' in rest));
    const { rope_scaling: _, rope_theta: theta, ...newer } = LLAMA32;
    assert.deepEqual(parse({ ...newer, rope_parameters: { ...ROPE_3, rope_theta: theta } }), parse(LLAMA32));
  });

  it('of Qwen3: normalised heads of a width of their own, no scaling', () => {
    const { layers, headDim, queryKeyNorm, attentionBias, ropeScaling } = parse({
      ...QWEN25,
      architectures: ['Qwen3ForCausalLM'],
      model_type: 'qwen3',
      head_dim: 128,
      attention_bias: false,
      rope_scaling: null,
      sliding_window: null,
    });
    assert.deepEqual(
      { layers, headDim, queryKeyNorm, attentionBias, ropeScaling },
      { layers: 24, headDim: 128, queryKeyNorm: true, attentionBias: undefined, ropeScaling: undefined },
    );
  });

  it('with the gaps that old Llama configurations have', () => {
    const {
      num_key_value_heads: _,
      head_dim: __,
      rope_theta: ___,
      rope_scaling: ____,
      tie_word_embeddings: _____,
      ...old
    } = LLAMA32;
    const { keyValueHeads, headDim, ropeTheta, ropeScaling, tieEmbeddings } = parse(old);
    assert.deepEqual(
      { keyValueHeads, headDim, ropeTheta, ropeScaling, tieEmbeddings },
      { keyValueHeads: 32, headDim: 64, ropeTheta: 10000, ropeScaling: undefined, tieEmbeddings: false },
    );
    assert.deepEqual(parse({ ...old, rope_scaling: { type: 'linear', factor: 4 } }).ropeScaling, {
      type: 'linear',
      factor: 4,
    });
  });

  it('that asks for what is not computed is refused by key and value', () => {
    refuses({ ...LLAMA32, model_type: 'gemma3' }, /model_type: "gemma3" is not supported/);
    refuses({}, /model_type: nothing is not supported/);
    refuses({ ...LLAMA32, model_type: 'constructor' }, /model_type: "constructor" is not supported/);
    refuses(
      { ...LLAMA32, architectures: ['LlamaForSequenceClassification'] },
      /architectures: "LlamaForSequenceClassification" is not supported; choose a LlamaForCausalLM/,
    );
    refuses({ ...QWEN25, use_sliding_window: true }, /use_sliding_window: true asks for sliding-window attention/);
    refuses(
      { ...QWEN25, layer_types: ['full_attention', 'sliding_attention'] },
      /layer_types: "sliding_attention" is not supported/,
    );
    refuses({ ...LLAMA32, attention_bias: true }, /attention_bias: true/);
    refuses({ ...LLAMA32, mlp_bias: true }, /mlp_bias: true/);
    refuses({ ...LLAMA32, hidden_act: 'gelu' }, /hidden_act: "gelu"/);
    refuses(
      { ...LLAMA32, quantization_config: { quant_method: 'gptq' } },
      /quantization_config: .*gptq.* asks for quantized weights/,
    );
    refuses(
      { ...LLAMA32, rope_scaling: { type: 'dynamic', factor: 2 } },
      /rope_scaling: the scaling "dynamic" is not supported/,
    );
    refuses(
      { ...QWEN25, rope_scaling: { type: 'yarn', factor: 4, original_max_position_embeddings: 32768 } },
      /rope_scaling: the scaling "yarn" is not supported/,
    );
    refuses(
      { ...LLAMA32, rope_parameters: { full_attention: ROPE_3 } },
      /rope_parameters: different rotary positions per kind of layer/,
    );
    refuses({ ...LLAMA32, partial_rotary_factor: 0.5 }, /partial_rotary_factor: 0\.5/);
  });

  it('with wrong numbers is refused by key', () => {
    refuses({ ...LLAMA32, rope_scaling: { ...ROPE_3, factor: undefined } }, /rope_scaling\.factor: /);
    refuses(
      { ...LLAMA32, rope_scaling: { ...ROPE_3, high_freq_factor: 1 } },
      /rope_scaling\.high_freq_factor: must be above/,
    );
    refuses({ ...QWEN25, num_key_value_heads: undefined }, /num_key_value_heads: missing/);
    refuses({ ...QWEN25, hidden_size: 897 }, /hidden_size is not a multiple of num_attention_heads/);
    refuses({ ...LLAMA32, vocab_size: -1 }, /vocab_size: /);
    refuses({ ...LLAMA32, rms_norm_eps: 0 }, /rms_norm_eps: /);
  });

  it('is written so that it reads as it was', () => {
    const qwen3 = parse({ ...QWEN25, architectures: undefined, model_type: 'qwen3', head_dim: 128 });
    for (const config of [
      parse(QWEN25),
      parse(LLAMA32),
      qwen3,
      { ...qwen3, ropeScaling: { type: 'linear', factor: 2 } as const },
    ]) {
      assert.deepEqual(parse(configToJson(config)), config);
    }
  });
});
