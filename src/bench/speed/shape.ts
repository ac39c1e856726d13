/** The model that the suites generation and train measure, and the work that they give it. */
import type { GenerationRequest } from '../../runtime/generate/generate.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { streamKey } from '../../runtime/random.ts';
import type { DeviceSettings } from '../../runtime/session/session.ts';
import type { TrainingContext } from '../../runtime/train/graph/pack.ts';

/** 3.7 million parameters, random. */
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

/** The threads that a run uses unless set otherwise. */
export const DEVICE: DeviceSettings = { threads: 2 };

export interface GenerationWork {
  /** Different prompts, and completions of each. */
  readonly prompts: number;
  readonly completions: number;
  readonly promptLength: number;
  /** Tokens of every completion: nothing ends earlier. */
  readonly newTokens: number;
}

/** Requests that sample at temperature 1, each with a stream of its own. */
export function generationRequests(
  { vocabularySize }: TransformerConfig,
  { prompts, completions, promptLength, newTokens }: GenerationWork,
): GenerationRequest[] {
  return Array.from({ length: prompts * completions }, (_, index) => ({
    prompt: tokensOf(Math.floor(index / completions), promptLength, vocabularySize),
    maxNewTokens: newTokens,
    // No token has this number.
    endToken: -1,
    temperature: 1,
    topP: 1,
    topK: 0,
    streamKey: streamKey({ seed: 0, scope: 'bench', uidSha: '', role: '', turn: 0, sibling: index }),
  }));
}

/** Rows of the optimiser step, each a message of that many tokens; all of them are predicted. */
export const STEP = { rows: 32, length: 128 } as const;

export function trainingRows({ vocabularySize }: TransformerConfig): TrainingContext[] {
  const unused = new Float32Array(STEP.length);
  return Array.from({ length: STEP.rows }, (_, row) => ({
    prompt: Int32Array.of(1),
    messages: [
      { tokens: tokensOf(row, STEP.length, vocabularySize), behaviour: unused, reference: unused, advantages: unused },
    ],
  }));
}

/** The prompt of a row. */
export const promptTokens = ({ vocabularySize }: TransformerConfig, row: number, length: number): Int32Array =>
  tokensOf(row, length, vocabularySize);

/** Tokens that differ from row to row; the first two say which row it is. */
function tokensOf(row: number, length: number, vocabularySize: number): Int32Array {
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
