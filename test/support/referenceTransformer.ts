/**
 * A reference for the graphs: a transformer of the Llama, Qwen2 and Qwen3 families in float64 and
 * plain loops, one position after another. It shares only the type of the configuration with
 * src/runtime.
 */

import type { RopeScaling, TransformerConfig } from '../../src/runtime/model/transformer.ts';

/** Weights by checkpoint name. A linear weight is [out, in] in row-major order. */
export type ReferenceWeights = ReadonlyMap<string, Float64Array>;

/**
 * One packed row. Segment 0 is the shared context. The other segments attend to it and to
 * themselves.
 */
export interface ReferenceRow {
  readonly tokens: readonly number[];
  readonly positions: readonly number[];
  readonly segments: readonly number[];
}

/** Returns a row with one sequence from position 0. */
export const plainRow = (tokens: readonly number[]): ReferenceRow => ({
  tokens,
  positions: tokens.map((_, index) => index),
  segments: tokens.map(() => 0),
});

/** Returns the logits of the next token at every position of a row. */
export function referenceLogits(
  config: TransformerConfig,
  weights: ReferenceWeights,
  row: ReferenceRow,
): Float64Array[] {
  const { hiddenSize, intermediateSize, heads, keyValueHeads, headDim, rmsEpsilon } = config;
  const weight = (name: string): Float64Array => {
    const found = weights.get(name);
    if (found === undefined) {
      throw new Error(`No weight ${name}.`);
    }
    return found;
  };
  const embedding = weight('model.embed_tokens.weight');
  let hidden: Float64Array[] = row.tokens.map((token) => embedding.slice(token * hiddenSize, (token + 1) * hiddenSize));
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${layer}`;
    const input = hidden.map((x) => normalised(x, weight(`${prefix}.input_layernorm.weight`), rmsEpsilon));
    const project = (name: string, width: number): Float64Array[] =>
      input.map((x) => {
        const projected = product(weight(`${prefix}.self_attn.${name}.weight`), x, width * headDim);
        return config.attentionBias === true ? plus(projected, weight(`${prefix}.self_attn.${name}.bias`)) : projected;
      });
    const headNorm = (x: Float64Array, name: string): Float64Array => {
      if (config.queryKeyNorm !== true) {
        return x;
      }
      const heads = Array.from({ length: x.length / headDim }, (_, head) =>
        normalised(
          x.slice(head * headDim, (head + 1) * headDim),
          weight(`${prefix}.self_attn.${name}.weight`),
          rmsEpsilon,
        ),
      );
      return Float64Array.from(heads.flatMap((head) => [...head]));
    };
    const turn = (vectors: Float64Array[], norm: string): Float64Array[] =>
      vectors.map((x, index) => rotated(headNorm(x, norm), element(row.positions, index), config));
    const queries = turn(project('q_proj', heads), 'q_norm');
    const keys = turn(project('k_proj', keyValueHeads), 'k_norm');
    const values = project('v_proj', keyValueHeads);
    const attended = hidden.map((_, at) => attention(config, element(queries, at), keys, values, visibleFrom(row, at)));
    hidden = hidden.map((x, index) =>
      plus(x, product(weight(`${prefix}.self_attn.o_proj.weight`), element(attended, index), hiddenSize)),
    );
    hidden = hidden.map((x) => {
      const y = normalised(x, weight(`${prefix}.post_attention_layernorm.weight`), rmsEpsilon);
      const gate = product(weight(`${prefix}.mlp.gate_proj.weight`), y, intermediateSize);
      const up = product(weight(`${prefix}.mlp.up_proj.weight`), y, intermediateSize);
      return plus(
        x,
        product(
          weight(`${prefix}.mlp.down_proj.weight`),
          gate.map((value, index) => (value / (1 + Math.exp(-value))) * (up[index] ?? NaN)),
          hiddenSize,
        ),
      );
    });
  }
  const head = weight(config.tieEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight');
  return hidden.map((x) =>
    product(head, normalised(x, weight('model.norm.weight'), rmsEpsilon), config.vocabularySize),
  );
}

/** Returns log softmax(logits / temperature). */
export function computeLogSoftmax(logits: ArrayLike<number>, temperature = 1): Float64Array {
  const scaled = Float64Array.from(logits, (value) => value / temperature);
  const largest = Math.max(...scaled);
  const normaliser = largest + Math.log(scaled.reduce((sum, value) => sum + Math.exp(value - largest), 0));
  return scaled.map((value) => value - normaliser);
}

/** Returns the log-probability of each token of a message that follows a prompt, unpacked. */
export function messageLogprobs(
  config: TransformerConfig,
  weights: ReferenceWeights,
  prompt: ArrayLike<number>,
  message: ArrayLike<number>,
  temperature = 1,
): number[] {
  const tokens = [...Array.from(prompt), ...Array.from(message)];
  const logits = referenceLogits(config, weights, plainRow(tokens.slice(0, -1)));
  return Array.from(message, (token, index) =>
    element(computeLogSoftmax(element(logits, prompt.length + index - 1), temperature), token),
  );
}

/**
 * Returns the positions up to this one that belong to the shared context or to the same segment.
 */
function visibleFrom({ segments }: ReferenceRow, at: number): number[] {
  return segments.flatMap((segment, index) =>
    index <= at && (segment === 0 || segment === segments[at]) ? [index] : [],
  );
}

function attention(
  { heads, keyValueHeads, headDim }: TransformerConfig,
  query: Float64Array,
  keys: Float64Array[],
  values: Float64Array[],
  visible: readonly number[],
): Float64Array {
  const mixed = new Float64Array(heads * headDim);
  for (let head = 0; head < heads; head++) {
    const from = Math.floor(head / (heads / keyValueHeads)) * headDim;
    const shares = computeLogSoftmax(
      visible.map((index) => dot(query, head * headDim, element(keys, index), from, headDim) / Math.sqrt(headDim)),
    );
    visible.forEach((index, order) => {
      const share = Math.exp(shares[order] ?? NaN);
      const value = element(values, index);
      for (let i = 0; i < headDim; i++) {
        mixed[head * headDim + i] = (mixed[head * headDim + i] ?? NaN) + share * (value[from + i] ?? NaN);
      }
    });
  }
  return mixed;
}

/** Rotates the pairs (x_i, x_{i + width / 2}) of every head by position * theta^(-2 i / width). */
function rotated(
  x: Float64Array,
  position: number,
  { headDim, ropeTheta, ropeScaling }: TransformerConfig,
): Float64Array {
  const half = headDim / 2;
  return x.map((value, index) => {
    const i = index % headDim;
    const angle = position * slowed(ropeTheta ** ((-2 * (i % half)) / headDim), ropeScaling);
    return (
      value * Math.cos(angle) + Math.sin(angle) * (i < half ? -(x[index + half] ?? NaN) : (x[index - half] ?? NaN))
    );
  });
}

/** Scales a frequency by its wavelength as Transformers does (modeling_rope_utils.py). */
function slowed(frequency: number, scaling: RopeScaling | undefined): number {
  if (scaling === undefined) {
    return frequency;
  }
  if (scaling.type === 'linear') {
    return frequency / scaling.factor;
  }
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < scaling.originalMaxPositions / scaling.highFrequencyFactor) {
    return frequency;
  }
  if (wavelength > scaling.originalMaxPositions / scaling.lowFrequencyFactor) {
    return frequency / scaling.factor;
  }
  const smooth =
    (scaling.originalMaxPositions / wavelength - scaling.lowFrequencyFactor) /
    (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
  return ((1 - smooth) * frequency) / scaling.factor + smooth * frequency;
}

function normalised(x: Float64Array, weight: Float64Array, epsilon: number): Float64Array {
  const root = Math.sqrt(dot(x, 0, x, 0, x.length) / x.length + epsilon);
  return x.map((value, index) => (value / root) * (weight[index] ?? NaN));
}

function product(matrix: Float64Array, x: Float64Array, outputs: number): Float64Array {
  return new Float64Array(outputs).map((_, row) => dot(matrix, row * x.length, x, 0, x.length));
}

const plus = (a: Float64Array, b: Float64Array): Float64Array => a.map((value, index) => value + (b[index] ?? NaN));

/** Returns a dot product. A missing element makes it NaN, which no test accepts. */
function dot(a: Float64Array, aFrom: number, b: Float64Array, bFrom: number, length: number): number {
  let sum = 0;
  for (let index = 0; index < length; index++) {
    sum += (a[aFrom + index] ?? NaN) * (b[bFrom + index] ?? NaN);
  }
  return sum;
}

function element<T>(list: ArrayLike<T>, index: number): T {
  const value = list[index];
  if (value === undefined) {
    throw new Error(`No element ${index} among ${list.length}.`);
  }
  return value;
}
