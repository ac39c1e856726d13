/** Facts and plans as an engine might give them. */

import type { MemoryItem, ModelFacts, RunPlan } from '../../../../src/shared/models.ts';

export function modelFacts(folder: string): ModelFacts {
  return {
    folder,
    family: 'qwen2',
    parameters: 494_032_768,
    precisions: [{ dtype: 'BF16', parameters: 494_032_768 }],
    files: 1,
    bytes: 988_097_824,
    layers: 24,
    hiddenSize: 896,
    heads: 14,
    keyValueHeads: 2,
    vocabularySize: 151_936,
    maxPositions: 32_768,
    tiedEmbeddings: true,
    ropeScaling: null,
    chatTemplate: 'tokenizer_config.json',
    reasons: false,
    endTokens: ['<|im_end|>'],
  };
}

/** A plan with one item of 1 GB for each name. */
export function runPlan(names: readonly string[]): RunPlan {
  const cost = { evaluatorCalls: 8, decisions: { reasoner: 2, actor: 8 }, tokens: 480 };
  const items = names.map((name): MemoryItem => ({ name, place: 'host', bytes: 1e9, advice: null }));
  return {
    memory: {
      items,
      totals: [{ place: 'host', bytes: 1e9 * names.length, available: 4e9, fits: names.length <= 4 }],
      advice: [],
    },
    seconds: null,
    budget: { steps: 1, evaluations: 2, perStep: cost, perEvaluation: cost, total: cost },
  };
}
