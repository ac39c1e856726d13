/** Tiny models, data and graph runs for the tests of this room. */

import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { GenerationRequest } from '../../../src/runtime/generate/generate.ts';
import type { Graph } from '../../../src/runtime/graph/graph.ts';
import { graphParameterViews, parameterCount, parameterFeeds } from '../../../src/runtime/model/model.ts';
import { parameterSpecs, type TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import type { TrainingContext, TrainingMessage } from '../../../src/runtime/train/graph/pack.ts';
import type { ReferenceWeights } from '../../support/referenceTransformer.ts';
import { present, range, testKey, testStream } from './nd.ts';

/** Grouped heads, a tied head, and every width different from the others. */
export const TINY: TransformerConfig = {
  vocabularySize: 22,
  hiddenSize: 16,
  intermediateSize: 24,
  layers: 2,
  heads: 4,
  keyValueHeads: 2,
  headDim: 6,
  // A power of two: graphs hold it as a float32.
  rmsEpsilon: 2 ** -16,
  ropeTheta: 100,
  maxPositions: 64,
  tieEmbeddings: true,
};

/** The same shape in other families. */
export const QWEN2: TransformerConfig = { ...TINY, attentionBias: true };
export const QWEN3: TransformerConfig = { ...TINY, queryKeyNorm: true, tieEmbeddings: false };
/** Wavelengths are 2 pi, 29 and 135: one is kept, one lies between, one is stretched by the factor. */
export const LLAMA3: TransformerConfig = {
  ...TINY,
  ropeScaling: { type: 'llama3', factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalMaxPositions: 60 },
};
export const LINEAR: TransformerConfig = { ...TINY, ropeScaling: { type: 'linear', factor: 2.5 } };

export const DEVICE = { threads: 1 };
export const RUNNING = { signal: new AbortController().signal };

/** Parameters large enough that every part of the model matters. */
export function testParameters(config: TransformerConfig, name = 'parameters'): Float32Array {
  return Float32Array.from(
    parameterSpecs(config).flatMap(({ name: tensor, shape }) => {
      const stream = testStream(`${name} ${tensor}`);
      const draw = (position: number): number =>
        tensor.endsWith('norm.weight') ? 0.5 + stream.uniform(position) : 0.35 * stream.normal(position);
      return range(shape.reduce((a, b) => a * b, 1)).map(draw);
    }),
  );
}

/** The flat vector as the reference implementation takes it. */
export function weightsOf(config: TransformerConfig, flat: ArrayLike<number>): ReferenceWeights {
  let offset = 0;
  return new Map(
    parameterSpecs(config).map(({ name, shape }) => {
      const length = shape.reduce((a, b) => a * b, 1);
      const start = offset;
      offset += length;
      return [name, Float64Array.from({ length }, (_, index) => flat[start + index] ?? NaN)];
    }),
  );
}

/** Token ids of a name. */
export function testTokens(name: string, length: number, { vocabularySize }: TransformerConfig = TINY): Int32Array {
  const stream = testStream(name);
  return Int32Array.from(range(length), (position) => Math.floor(vocabularySize * stream.uniform(position)));
}

export const message = (tokens: Int32Array): TrainingMessage => ({
  tokens,
  behaviour: new Float32Array(tokens.length),
  reference: new Float32Array(tokens.length),
  advantages: new Float32Array(tokens.length),
});

/** A context of a prompt length and its messages' lengths. */
export const context = (name: string, promptLength: number, ...messageLengths: number[]): TrainingContext => ({
  prompt: testTokens(`${name} prompt`, promptLength),
  messages: messageLengths.map((length, index) => message(testTokens(`${name} message ${index}`, length))),
});

export const request = (
  name: string,
  promptLength: number,
  maxNewTokens: number,
  more: Partial<GenerationRequest> = {},
): GenerationRequest => ({
  prompt: testTokens(`${name} prompt`, promptLength),
  maxNewTokens,
  endToken: 0,
  temperature: 1,
  topP: 1,
  topK: 0,
  streamKey: testKey(name),
  ...more,
});

export const scalar = (value: number): Tensor => new Tensor('float32', [value], [1]);

/**
 * Runs a graph once on parameters and other feeds, all float32 at rest, in the graph's own float type.
 * Fusions are left out: ONNX Runtime would fuse x sigmoid(x) into an operator without a float64 kernel.
 */
export async function runGraph(
  g: Graph,
  config: TransformerConfig,
  flat: Float32Array,
  feeds: Readonly<Record<string, Tensor>>,
): Promise<Record<string, Float64Array>> {
  const session = await InferenceSession.create(g.toModel(), {
    graphOptimizationLevel: 'basic',
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const inGraphType = (tensor: Tensor): Tensor =>
    tensor.data instanceof Float32Array && g.float === 'float64'
      ? new Tensor('float64', Float64Array.from(tensor.data), tensor.dims)
      : tensor;
  const all = Object.entries({ ...parameterFeeds(config, flat), ...feeds }).map(
    ([name, tensor]) => [name, inGraphType(tensor)] as const,
  );
  const outputs = await session.run(Object.fromEntries(all));
  await session.release();
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { data }]) => {
      if (!(data instanceof Float32Array || data instanceof Float64Array)) {
        throw new Error(`${name} is no float output.`);
      }
      return [name, Float64Array.from(data)];
    }),
  );
}

/** The outputs that belong to the parameters as one vector in checkpoint order. */
export function flatOutput(
  config: TransformerConfig,
  outputs: Readonly<Record<string, Float64Array>>,
  nameOf: (parameter: string) => string,
): Float64Array {
  const flat = new Float64Array(parameterCount(config));
  for (const { name, offset } of graphParameterViews(config)) {
    flat.set(present(outputs[nameOf(name)]), offset);
  }
  return flat;
}
