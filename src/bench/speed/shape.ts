/** The model that the suites generation and train measure, and its work. */

import type { GenerationRequest } from '../../runtime/generate/generate.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { streamKey } from '../../runtime/random.ts';
import type { DeviceSettings } from '../../runtime/session/session.ts';
import type { TrainingContext } from '../../runtime/train/graph/pack.ts';

/** The shape of a model with 3.7 million random parameters. */
export const SHAPE: TransformerConfig = {
  vocabularySize: 512,
  hiddenSize: 256,
  intermediateSize: 768,
  layers: 4,
  heads: 4,
  keyValueHeads: 4,
  headDim: 64,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 512,
  tieEmbeddings: false,
};

/** The default number of threads of a run. */
export const DEVICE: DeviceSettings = { threads: 2 };

export interface GenerationWork {
  /** Number of different prompts. */
  readonly prompts: number;
  /** Completions of each prompt. */
  readonly completions: number;
  readonly promptLength: number;
  /** Tokens of every completion. No completion ends earlier. */
  readonly newTokens: number;
}

/** Returns requests that sample at temperature 1, each with its own random stream. */
export function makeGenerationRequests(
  { vocabularySize }: TransformerConfig,
  { prompts, completions, promptLength, newTokens }: GenerationWork,
): GenerationRequest[] {
  return Array.from({ length: prompts * completions }, (_, index) => ({
    prompt: makeRowTokens(Math.floor(index / completions), promptLength, vocabularySize),
    maxNewTokens: newTokens,
    // No token has this id.
    endToken: -1,
    temperature: 1,
    topP: 1,
    topK: 0,
    streamKey: streamKey({ seed: 0, scope: 'bench', uidSha: '', role: '', turn: 0, sibling: index }),
  }));
}

/**
 * Rows of the optimizer step, and tokens of the one message in each row. All tokens are predicted.
 */
export const STEP = { rows: 32, length: 128 } as const;

export function makeTrainingRows({ vocabularySize }: TransformerConfig): TrainingContext[] {
  const unused = new Float32Array(STEP.length);
  return Array.from({ length: STEP.rows }, (_, row) => ({
    prompt: Int32Array.of(1),
    messages: [
      {
        tokens: makeRowTokens(row, STEP.length, vocabularySize),
        behaviour: unused,
        reference: unused,
        advantages: unused,
      },
    ],
  }));
}

/** Returns the prompt of a row. */
export const makePromptTokens = ({ vocabularySize }: TransformerConfig, row: number, length: number): Int32Array =>
  makeRowTokens(row, length, vocabularySize);

/** Returns tokens that differ from row to row. The first two encode the row. */
function makeRowTokens(row: number, length: number, vocabularySize: number): Int32Array {
  return Int32Array.from(
    { length },
    (_, position) =>
      (position === 0
        ? row % vocabularySize
        : position === 1
          ? Math.floor(row / vocabularySize)
          : row * 31 + position * 7) % vocabularySize,
  );
}
