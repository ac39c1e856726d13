/**
 * The sampler and the trainer give the same tokens the same log-probabilities, bit for bit, so that the first step's
 * ratios are exactly 1.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Generator, type GenerationRequest } from '../../../../src/runtime/generate/generate.ts';
import { exactSlots } from '../../../../src/runtime/model/exactThreads.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../src/runtime/train/trainingState.ts';
import { request, RUNNING, testParameters } from '../../../unit/runtime/models.ts';
import { present, range, testKey, total } from '../../../unit/runtime/nd.ts';

const NEVER = -1;
/** Messages behind one context, of different lengths, and how many behind a long one. */
const SIBLINGS = 5;
const LONG_SIBLINGS = 3;
/** Tokens of a context: about multiples of the row length, the shortest, and in between. */
const LENGTHS = [1, 2, 7, 8, 9, 16, 17, 31, 50, 63, 64, 65, 100];

interface Shape {
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly attentionBias?: true;
  readonly queryKeyNorm?: true;
}

export const SHAPES: readonly Shape[] = [
  { heads: 2, keyValueHeads: 2, headDim: 16 },
  { heads: 4, keyValueHeads: 2, headDim: 16 },
  { heads: 3, keyValueHeads: 3, headDim: 24 },
  { heads: 6, keyValueHeads: 2, headDim: 24 },
  { heads: 1, keyValueHeads: 1, headDim: 48 },
  { heads: 4, keyValueHeads: 2, headDim: 48 },
  { heads: 2, keyValueHeads: 2, headDim: 64 },
  { heads: 8, keyValueHeads: 1, headDim: 64 },
  // Qwen2 and Qwen3.
  { heads: 4, keyValueHeads: 2, headDim: 16, attentionBias: true },
  { heads: 3, keyValueHeads: 3, headDim: 24, attentionBias: true },
  { heads: 6, keyValueHeads: 2, headDim: 24, queryKeyNorm: true },
  { heads: 2, keyValueHeads: 2, headDim: 64, queryKeyNorm: true },
];

const configOf = (shape: Shape): TransformerConfig => ({
  vocabularySize: 37,
  hiddenSize: 40,
  intermediateSize: 72,
  layers: 2,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 1200,
  tieEmbeddings: true,
  ...shape,
});

/** Small enough that no probability is near 1. */
const parametersOf = (config: TransformerConfig): Float32Array =>
  testParameters(config, 'exactness').map((value) => 0.7 * value);

/**
 * Several messages behind each of several contexts: short ones, one that messages continue beyond what attention adds
 * up in one go, one that is longer itself.
 */
function requestsOf(config: TransformerConfig, temperature: number): GenerationRequest[][] {
  const siblings = (name: string, length: number, count: number): GenerationRequest[] =>
    range(count).map((index) =>
      request(name, length, 3 + 5 * index, { endToken: NEVER, temperature, streamKey: testKey(name, index) }),
    );
  const slots = exactSlots(config);
  return [
    ...LENGTHS.map((length) => siblings(`context ${length}`, length, SIBLINGS)),
    siblings('crossing', slots - 9, LONG_SIBLINGS),
    siblings('long', slots + 21, LONG_SIBLINGS),
  ];
}

/**
 * @param shapes places in the list of shapes
 * @param threadsOf a shape, by its place
 */
export function exactRatios(shapes: readonly number[], threadsOf: (place: number) => readonly number[]): void {
  for (const index of shapes) {
    const shape = present(SHAPES[index]);
    describe(`${shape.heads} heads over ${shape.keyValueHeads} of width ${shape.headDim}${shape.attentionBias ? ', with biases' : ''}${shape.queryKeyNorm ? ', normalised' : ''}`, () => {
      for (const threads of threadsOf(index)) {
        it(`with ${threads} thread(s): no log-probability differs, and every first ratio is 1`, async () => {
          const config = configOf(shape);
          const flat = parametersOf(config);
          const [generator, trainer] = [await Generator.create(config, { threads }), new Trainer(config, { threads })];
          const temperature = shape.heads % 2 === 0 ? 1 : 0.75;
          const groups = requestsOf(config, temperature);
          const completions = await generator.generate(flat, groups.flat(), RUNNING);
          const contexts = groups.map((group) => ({
            prompt: present(group[0]).prompt,
            messages: group.map((one) => {
              const { tokens, logprobs } = present(completions[groups.flat().indexOf(one)]);
              return {
                tokens,
                behaviour: logprobs,
                reference: logprobs,
                advantages: Float32Array.from(tokens, (token) => (token % 2 === 0 ? 1 : -1)),
              };
            }),
          }));
          const sampled = contexts.map(({ messages }) => messages.map(({ behaviour }) => behaviour));
          assert.deepEqual(await trainer.score(flat, contexts, temperature, RUNNING.signal), sampled);
          const { ratioDeviation, kl, clipFraction, tokens } = await trainer.step(
            initialState(flat),
            contexts,
            { loss: 'ppo', learningRate: 1e-3, temperature, klCoefficient: 0.1 },
            RUNNING.signal,
          );
          assert.deepEqual({ ratioDeviation, kl, clipFraction }, { ratioDeviation: 0, kl: 0, clipFraction: 0 });
          assert.equal(tokens, total(sampled.flat().map(({ length }) => length)));
          await generator.release();
          await trainer.release();
        });
      }
    });
  }
}
