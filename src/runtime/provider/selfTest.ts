/** Checks a provider: it agrees with the CPU, in any batch, and generation agrees with training. */

import { findTraits } from '../../shared/devices.ts';
import { Generator, type Completion, type GenerationRequest } from '../generate/generate.ts';
import { Graph, type NodeSpec } from '../graph/graph.ts';
import { initialParameters } from '../model/model.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { Stream, streamKey } from '../random.ts';
import {
  boolTensor,
  floatData,
  floatTensor,
  int64Tensor,
  Session,
  type DeviceSettings,
  type Feeds,
} from '../session/session.ts';
import type { TrainingContext } from '../train/graph/pack.ts';
import { Trainer } from '../train/trainer.ts';
import { initialState, type StepSettings } from '../train/trainingState.ts';

export interface SelfTest {
  readonly passed: boolean;
  /** One sentence without a period. */
  readonly sentence: string;
}

/** Largest difference from the CPU that another order of rounding explains at these sizes. */
const TOLERANCE = 1e-4;

const TINY: TransformerConfig = {
  vocabularySize: 64,
  hiddenSize: 32,
  intermediateSize: 64,
  layers: 1,
  heads: 4,
  keyValueHeads: 2,
  headDim: 8,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 64,
  tieEmbeddings: true,
};
const STEP: StepSettings = { loss: 'ppo', learningRate: 1e-2, temperature: 1, klCoefficient: 0.1 };
const COMPLETIONS = 5;
const NEVER = new AbortController().signal;

/**
 * Runs single operators, a small generation and one optimizer step on a device and, unless it is the
 * CPU, on the CPU too.
 * @throws C3Error('model') if the provider is not available
 */
export async function testDevice(device: DeviceSettings): Promise<SelfTest> {
  const { threads } = device;
  const { accelerator } = findTraits(device);
  const cpu: DeviceSettings = { threads };
  try {
    if (accelerator) {
      requireWithinTolerance(
        largestDifference(await runOperators(device), await runOperators(cpu)),
        'operators and the CPU',
      );
    }
    const parameters = initialParameters(TINY, 1).map((value) => 6 * value);
    const { contexts, completions } = await generateInTwoOrders(device, parameters);
    const agreement = requireWithinTolerance(
      await scoreDifference(device, parameters, contexts),
      'sampler and trainer',
    );
    const count = `${completions} completions the same in two orders, sampler and trainer within ${agreement}`;
    if (!accelerator) {
      return { passed: true, sentence: `passed: ${count}` };
    }
    const score = requireWithinTolerance(
      await scoreDifference(cpu, parameters, contexts),
      'log-probabilities and the CPU',
    );
    const step = requireWithinTolerance(
      await stepDifference(device, cpu, parameters, contexts),
      'a training step and the CPU',
    );
    return { passed: true, sentence: `passed: ${count}, within ${score} of the CPU, a training step within ${step}` };
  } catch (error) {
    if (error instanceof Mismatch) {
      return { passed: false, sentence: `failed: ${error.message}` };
    }
    throw error;
  }
}

/** A failure that the self-test found. */
class Mismatch extends Error {}

function requireWithinTolerance(difference: number, what: string): string {
  if (!(difference <= TOLERANCE)) {
    throw new Mismatch(`${what} differ by ${difference.toExponential(1)}`);
  }
  return difference.toExponential(1);
}

function largestDifference(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  let largest = a.length === b.length ? 0 : NaN;
  a.forEach((values, part) => {
    const other = b[part];
    values.forEach((value, index) => {
      const difference = Math.abs(value - (other?.[index] ?? NaN));
      // Math.max keeps a NaN.
      largest = Math.max(largest, difference);
    });
  });
  return largest;
}

/** Runs product, softmax, normalization, gather, scatter, select and sum, each on values of its own. */
async function runOperators(device: DeviceSettings): Promise<Float32Array[]> {
  const [rows, inner, columns] = [6, 40, 24];
  const g = new Graph('operators');
  const x = g.floatInput('x', ['rows', inner]);
  const publish = (name: string, node: Omit<NodeSpec, 'outputs'>, width = inner): void =>
    g.output(name, g.apply({ ...node, dtype: 'float32', shape: ['rows', width] }));
  publish('product', { op: 'MatMul', inputs: [x, g.floatInput('weight', [inner, columns])] }, columns);
  publish('softmax', { op: 'Softmax', inputs: [x], attributes: { axis: -1 } });
  publish('normalised', {
    op: 'SimplifiedLayerNormalization',
    inputs: [x, g.floatInput('scale', [inner])],
    attributes: { axis: -1, epsilon: { float: 1e-6 }, stash_type: 1 },
  });
  publish('gathered', { op: 'Gather', inputs: [x, g.input('order', 'int64', ['rows'])], attributes: { axis: 0 } });
  publish('scattered', {
    op: 'ScatterElements',
    inputs: [x, g.input('slots', 'int64', ['rows', 1]), g.floatInput('updates', ['rows', 1])],
    attributes: { axis: 1 },
  });
  publish('selected', { op: 'Where', inputs: [g.input('mask', 'bool', ['rows', 1]), x, g.scalar(-1)] });
  publish('summed', { op: 'ReduceSum', inputs: [x, g.ints([1])], attributes: { keepdims: 1 } }, 1);
  const session = await Session.create(g, device);
  try {
    const outputs = await session.run(operatorFeeds(rows, inner, columns));
    return Object.keys(outputs)
      .sort()
      .map((name) => floatData(outputs, name));
  } finally {
    await session.release();
  }
}

function operatorFeeds(rows: number, inner: number, columns: number): Feeds {
  const stream = new Stream(
    streamKey({ seed: 0, scope: 'self-test', uidSha: '', role: 'operators', turn: 0, sibling: 0 }),
  );
  let drawn = 0;
  const draw = (...dims: number[]): ReturnType<typeof floatTensor> =>
    floatTensor(
      Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => stream.normal(drawn++)),
      dims,
    );
  const order = Array.from({ length: rows }, (_, row) => BigInt((5 * row + 2) % rows));
  const mask = draw(rows, 1);
  return {
    x: draw(rows, inner),
    weight: draw(inner, columns),
    scale: draw(inner),
    order: int64Tensor(BigInt64Array.from(order), [rows]),
    slots: int64Tensor(
      BigInt64Array.from(order, (row) => 6n * row),
      [rows, 1],
    ),
    updates: draw(rows, 1),
    mask: boolTensor(
      Array.from(floatData({ mask }, 'mask'), (value) => value > 0),
      [rows, 1],
    ),
  };
}

/**
 * Generates completions of a small random model in two orders.
 * @throws Mismatch if they differ
 */
async function generateInTwoOrders(
  device: DeviceSettings,
  parameters: Float32Array,
): Promise<{ contexts: TrainingContext[]; completions: number }> {
  const requests: GenerationRequest[] = Array.from({ length: COMPLETIONS }, (_, index) => ({
    prompt: Int32Array.from({ length: 5 + index }, (__, position) => (7 * index + 3 * position) % TINY.vocabularySize),
    maxNewTokens: 7 - index,
    endToken: -1,
    temperature: 1,
    topP: 1,
    topK: 0,
    streamKey: streamKey({ seed: 0, scope: 'self-test', uidSha: '', role: '', turn: 0, sibling: index }),
  }));
  const generator = await Generator.create(TINY, device);
  try {
    const together = await generator.generate(parameters, requests, { signal: NEVER });
    const reversed = (await generator.generate(parameters, [...requests].reverse(), { signal: NEVER })).reverse();
    const differing = together.filter((completion, index) => !isSameCompletion(completion, reversed[index])).length;
    if (differing > 0) {
      throw new Mismatch(`${differing} of ${requests.length} completions depend on their batch`);
    }
    const contexts = together.map(({ tokens, logprobs }, index) => ({
      prompt: requests[index]?.prompt ?? new Int32Array(),
      messages: [
        {
          tokens,
          behaviour: logprobs,
          reference: logprobs.map((value) => value - 0.1),
          advantages: logprobs.map((_, token) => 1 - (token % 3)),
        },
      ],
    }));
    return { contexts, completions: requests.length };
  } finally {
    await generator.release();
  }
}

const isSameCompletion = (a: Completion, b: Completion | undefined): boolean =>
  a.tokens.join() === b?.tokens.join() && a.logprobs.join() === b.logprobs.join();

/** Returns the largest difference between sampled log-probabilities and a device's scores. */
async function scoreDifference(
  device: DeviceSettings,
  parameters: Float32Array,
  contexts: readonly TrainingContext[],
): Promise<number> {
  const trainer = new Trainer(TINY, device);
  try {
    const scored = await trainer.score(parameters, contexts, 1, NEVER);
    return largestDifference(
      scored.flat(),
      contexts.flatMap(({ messages }) => messages.map(({ behaviour }) => behaviour)),
    );
  } finally {
    await trainer.release();
  }
}

/**
 * Returns the largest difference of loss, gradient and parameters after one optimizer step. Parameters
 * count only if their gradient is more than a rounding error.
 */
async function stepDifference(
  device: DeviceSettings,
  cpu: DeviceSettings,
  parameters: Float32Array,
  contexts: readonly TrainingContext[],
): Promise<number> {
  const [own, reference] = [await step(device, parameters, contexts), await step(cpu, parameters, contexts)];
  // AdamW's first step moves every parameter by the learning rate in the direction of its gradient's
  // sign. If the gradient is near 0, the sign means nothing.
  const sure = (values: Float32Array): Float32Array =>
    values.map((value, index) => (Math.abs(reference.momentum[index] ?? 0) > 1e-6 ? value : 0));
  return largestDifference(
    [Float32Array.of(own.loss), own.momentum, sure(own.parameters)],
    [Float32Array.of(reference.loss), reference.momentum, sure(reference.parameters)],
  );
}

async function step(
  device: DeviceSettings,
  parameters: Float32Array,
  contexts: readonly TrainingContext[],
): Promise<{ loss: number; momentum: Float32Array; parameters: Float32Array }> {
  const trainer = new Trainer(TINY, device);
  try {
    const { state, loss } = await trainer.step(initialState(parameters), contexts, STEP, NEVER);
    await trainer.download(state);
    return { loss, momentum: state.momentum, parameters: state.parameters };
  } finally {
    await trainer.release();
  }
}
