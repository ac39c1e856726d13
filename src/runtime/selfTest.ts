/** A short check that a provider computes what it should, and that generation and training agree on it. */
import { listSupportedBackends } from 'onnxruntime-node';
import { Generator } from './generate.ts';
import { initialParameters } from './model.ts';
import { streamKey } from './random.ts';
import { runtimeVersion, type DeviceSettings } from './session.ts';
import { Trainer } from './trainer.ts';
import type { TransformerConfig } from './transformer.ts';

export { runtimeVersion };

export interface ProviderListing {
  readonly name: string;
  /** True where this product can run on it. */
  readonly usable: boolean;
}

/** Providers of the installed runtime. The product computes on the CPU provider. */
export function listProviders(): ProviderListing[] {
  return listSupportedBackends().map(({ name }) => ({ name, usable: name === 'cpu' }));
}

const TINY: TransformerConfig = {
  vocabularySize: 64,
  hiddenSize: 32,
  intermediateSize: 64,
  layers: 2,
  heads: 4,
  keyValueHeads: 2,
  headDim: 8,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 64,
  tieEmbeddings: true,
};

/**
 * Generates with a tiny random model in two batch compositions and scores the result with the training graph.
 * @returns one sentence: what agreed and how closely
 */
export async function deviceSelfTest(device: DeviceSettings): Promise<string> {
  const parameters = initialParameters(TINY, 1).map((value) => 4 * value);
  const generator = await Generator.create(TINY, device);
  const trainer = new Trainer(TINY, device);
  try {
    const requests = Array.from({ length: 8 }, (_, index) => ({
      prompt: Int32Array.from({ length: 5 + index }, (__, position) => (7 * index + 3 * position) % TINY.vocabularySize),
      maxNewTokens: 12,
      endToken: 0,
      temperature: 1,
      topP: 1,
      topK: 0,
      streamKey: streamKey({ seed: 0, scope: 'self-test', uidSha: '', eventType: '', turn: 0, sibling: index }),
    }));
    const control = { cancelled: (): boolean => false };
    const together = await generator.generate(parameters, requests, control);
    const reversed = (await generator.generate(parameters, [...requests].reverse(), control)).reverse();
    const differing = together.filter((completion, index) => completion.tokens.join() !== reversed[index]?.tokens.join()).length;
    const contexts = together.map(({ tokens, logprobs }, index) => ({
      prompt: requests[index]?.prompt ?? new Int32Array(),
      messages: [{ tokens, behaviour: logprobs, reference: logprobs, advantages: logprobs }],
    }));
    const scored = await trainer.score(parameters, contexts, 1, control.cancelled);
    let largest = 0;
    together.forEach(({ logprobs }, row) => {
      logprobs.forEach((value, index) => (largest = Math.max(largest, Math.abs(value - (scored[row]?.[0]?.[index] ?? NaN)))));
    });
    if (!(largest < 1e-4)) return `failed: sampler and trainer differ by ${largest.toExponential(1)} in a log-probability`;
    if (differing > 0) return `failed: ${String(differing)} of ${String(requests.length)} completions depend on their batch`;
    return `passed: ${String(requests.length)} completions the same in two orders, sampler and trainer within ${largest.toExponential(1)}`;
  } finally {
    await generator.release();
    await trainer.release();
  }
}
