/** How fast a device does what a run does: the measurement behind `device: auto`. */
import type { AbortFlag } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import { Generator } from '../generate/generate.ts';
import { initialParameters } from '../model/model.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { streamKey } from '../random.ts';
import type { DeviceSettings } from '../session/session.ts';
import { Trainer } from '../train/trainer.ts';
import { initialState } from '../train/trainingState.ts';

/** The width of the bundled team's model, with fewer layers. */
const SHAPE: TransformerConfig = {
  vocabularySize: 512,
  hiddenSize: 192,
  intermediateSize: 512,
  layers: 2,
  heads: 6,
  keyValueHeads: 3,
  headDim: 32,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 128,
  tieEmbeddings: true,
};
const ROWS = 32;
const NEW_TOKENS = 16;
/** Seconds that compiling shaders may take. */
const WARM_UP = 3;

/**
 * Seconds of one small generation and one optimiser step on its completions; graphs are warm.
 * @param limit seconds after which to give up, between two steps of the work; the first, cold round has WARM_UP more
 * @returns null where it gave up
 */
export async function deviceSeconds(device: DeviceSettings, limit: number): Promise<number | null> {
  const parameters = initialParameters(SHAPE, 1);
  const requests = Array.from({ length: ROWS }, (_, row) => ({
    prompt: Int32Array.from({ length: 16 }, (__, position) => (31 * row + 7 * position) % SHAPE.vocabularySize),
    maxNewTokens: NEW_TOKENS,
    endToken: -1,
    temperature: 1,
    topP: 1,
    topK: 0,
    streamKey: streamKey({ seed: 0, scope: 'speed', uidSha: '', role: '', turn: 0, sibling: row }),
  }));
  const generator = await Generator.create(SHAPE, device);
  const trainer = new Trainer(SHAPE, device);
  const round = async (end: number): Promise<void> => {
    // Native calls block the thread's timers: the clock itself is looked at.
    const signal: AbortFlag = {
      get aborted() {
        return performance.now() > end;
      },
    };
    const completions = await generator.generate(parameters, requests, { signal });
    const contexts = completions.map(({ tokens, logprobs }, row) => ({
      prompt: requests[row]?.prompt ?? new Int32Array(),
      messages: [{ tokens, behaviour: logprobs, reference: logprobs, advantages: logprobs }],
    }));
    await trainer.step(
      initialState(parameters),
      contexts,
      { loss: 'ppo', learningRate: 1e-4, temperature: 1, klCoefficient: 0.01 },
      signal,
    );
  };
  try {
    await round(performance.now() + 1000 * (limit + WARM_UP));
    const started = performance.now();
    await round(started + 1000 * limit);
    return (performance.now() - started) / 1000;
  } catch (error) {
    if (error instanceof CancelledError) {
      return null;
    }
    throw error;
  } finally {
    await generator.release();
    await trainer.release();
  }
}
