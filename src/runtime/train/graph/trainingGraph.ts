/**
 * Graphs that score and train: the forward pass over packed rows, loss and gradients, and the
 * optimizer step with clipping and AdamW.
 */

import { gradients } from '../../graph/autodiff.ts';
import { Graph, type FloatType, type Value } from '../../graph/graph.ts';
import { HIDDEN, type AttentionMask } from '../../graph/ops/attention.ts';
import {
  add,
  cast,
  div,
  equal,
  lessOrEqual,
  logicalAnd,
  minimum,
  mul,
  neg,
  select,
  sqrt,
  square,
  sub,
} from '../../graph/ops/elementwise.ts';
import { gatherDistinctRows } from '../../graph/ops/gather.ts';
import { logSoftmax, rmsNorm, targetLogSoftmax } from '../../graph/ops/normalise.ts';
import { sumAll } from '../../graph/ops/reduce.ts';
import { reshape, unsqueeze } from '../../graph/ops/shape.ts';
import { computeInChunks } from '../../graph/recompute.ts';
import { forward, logits, type ForwardInputs } from '../../model/decoder.ts';
import {
  FINAL_NORM,
  requireParameter,
  parameterInputs,
  trainedSpecs,
  type Parameters,
  type TransformerConfig,
} from '../../model/transformer.ts';
import { ppoLoss, type PolicyLoss } from './policyLoss.ts';

export type LossKind = 'ppo' | 'supervised';

/** Optimizer constants that are part of the graph. */
export interface AdamWConstants {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Global gradient norm above which gradients are scaled down. */
  readonly maxNorm: number;
}

/** AdamW as in C3 Appendix D: betas (0.9, 0.95), no decay, gradient norm 1. */
export const ADAMW: AdamWConstants = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxNorm: 1 };

/** Options that reduce the memory of a graph. On the CPU neither changes a bit of a log-probability. */
export interface MemoryOptions {
  /** True to recompute each layer in the backward pass instead of keeping its activations. */
  readonly recompute?: boolean;
  /** Chunks of the output projection (see headChunks), each with at least two targets; default 1. */
  readonly chunks?: number;
}

export interface TrainingGraphOptions extends MemoryOptions {
  readonly loss: LossKind;
  /** For `ppo`. */
  readonly policy?: PolicyLoss;
  readonly float?: FloatType;
}

export const gradientName = (parameter: string): string => `gradient.${parameter}`;
export const accumulatedName = (parameter: string): string => `accumulated.${parameter}`;
export const momentumName = (parameter: string): string => `momentum.${parameter}`;
export const varianceName = (parameter: string): string => `variance.${parameter}`;
export const updatedName = (tensor: string): string => `updated.${tensor}`;

/**
 * Builds the log-probabilities of target tokens in packed rows. Inputs: tokens, segments int32 [rows,
 * time]; positions int64 [rows * time, 1]; slots int32 [time] = 0, 1, ...; ones float [time, 2];
 * selected int32 [targets] (flat index of the position that predicts, each once); inverse int32 [rows
 * * time] (index of a position in `selected`, or the number of targets); targets int32 [targets, 1];
 * temperature float [1]. A position sees the earlier positions of its row that belong to segment 0
 * (the shared context) or to its own segment.
 * @returns logprobs [targets, 1]: log softmax(logits / temperature) at the target; scores [targets,
 *   vocabulary]: logits / temperature, only with one chunk
 */
function targetLogprobs(
  g: Graph,
  config: TransformerConfig,
  parameters: Parameters,
  { recompute = false, chunks = 1 }: MemoryOptions,
): { readonly logprobs: Value; readonly scores?: Value } {
  const rows = selectedStates(g, config, parameters, recompute);
  const temperature = g.floatInput('temperature', [1]);
  const scoresOf = (states: Value): Value => scaledLogits(g, config, parameters, states, temperature);
  const targets = g.input('targets', 'int32', ['targets', 1]);
  if (chunks === 1) {
    const scores = scoresOf(rows);
    return { logprobs: targetLogSoftmax(g, scores, targets), scores };
  }
  const head = (states: Value, own: Value): Value => targetLogSoftmax(g, scoresOf(states), own);
  return { logprobs: computeInChunks(g, chunks, rows, targets, head) };
}

/** Returns logits / temperature of hidden states, [targets, vocabulary]. */
function scaledLogits(
  g: Graph,
  config: TransformerConfig,
  parameters: Parameters,
  states: Value,
  temperature: Value,
): Value {
  return div(g, logits(g, config, parameters, states), temperature);
}

/** Returns the hidden states [targets, hidden] of selected positions, not yet normalized. */
function selectedStates(g: Graph, config: TransformerConfig, parameters: Parameters, recompute: boolean): Value {
  const { hidden } = forward(g, config, parameters, packedInputs(g), recompute);
  const flat = reshape(g, hidden, ['positions', config.hiddenSize]);
  return gatherDistinctRows(
    g,
    flat,
    g.input('selected', 'int32', ['targets']),
    g.input('inverse', 'int32', ['positions']),
  );
}

/** Declares the inputs of whole rows: tokens, positions, segments, slots and ones. */
export function packedInputs(g: Graph): ForwardInputs {
  const tokens = g.input('tokens', 'int32', ['rows', 'time']);
  const positions = g.input('positions', 'int64', ['positions', 1]);
  const mask = packedMask(g, g.input('segments', 'int32', ['rows', 'time']), g.input('slots', 'int32', ['time']));
  return { tokens, positions, mask, ones: g.floatInput('ones', ['time', 2]) };
}

/** Builds the mask [rows, 1, time, time] of the positions that a position sees. `slots` is 0, 1, ... */
function packedMask(g: Graph, segments: Value, slots: Value): AttentionMask {
  const earlier = lessOrEqual(g, unsqueeze(g, slots, [0]), unsqueeze(g, slots, [1]));
  const seen = unsqueeze(g, segments, [1, 2]);
  // Zero if the seen segment is 0 or the own one.
  const foreign = mul(g, seen, sub(g, seen, unsqueeze(g, segments, [1, 3])));
  const sees = logicalAnd(g, unsqueeze(g, earlier, [0, 1]), equal(g, foreign, g.int32s([0], [])));
  return { bias: select(g, sees, g.scalar(0), g.scalar(HIDDEN)), visible: cast(g, sees, g.float) };
}

/** Builds the graph that scores target tokens. Output: `logprobs` [targets, 1]. */
export function buildScoreGraph(
  config: TransformerConfig,
  float: FloatType = 'float32',
  memory: MemoryOptions = {},
): Graph {
  const g = new Graph('score', float);
  g.output('logprobs', targetLogprobs(g, config, parameterInputs(g, config), memory).logprobs);
  return g;
}

/**
 * Builds the graph of the whole distribution at every target. Output: `distribution` [targets,
 * vocabulary], log softmax(logits / temperature). Inputs: those of the score graph without targets.
 */
export function buildDistributionGraph(config: TransformerConfig, float: FloatType = 'float32'): Graph {
  const g = new Graph('distribution', float);
  const parameters = parameterInputs(g, config);
  const rows = selectedStates(g, config, parameters, false);
  g.output('distribution', logSoftmax(g, scaledLogits(g, config, parameters, rows, g.floatInput('temperature', [1]))));
  return g;
}

/**
 * Builds the graph of the final hidden states of selected positions. Output: `states` [targets,
 * hidden]. Inputs: those of the score graph without targets and temperature.
 */
export function buildStateGraph(config: TransformerConfig, float: FloatType = 'float32'): Graph {
  const g = new Graph('states', float);
  const parameters = parameterInputs(g, config);
  g.output(
    'states',
    rmsNorm(
      g,
      selectedStates(g, config, parameters, false),
      requireParameter(parameters, FINAL_NORM),
      config.rmsEpsilon,
    ),
  );
  return g;
}

/**
 * Builds the graph of loss and gradients of one micro-batch, added to those of earlier ones.
 *
 * Inputs besides those of the score graph: weights float [targets, 1] (weight of each token in the
 * mean); `accumulated.NAME` of each parameter's shape; for `ppo` also advantages, behaviour,
 * reference float [targets, 1] and klCoefficient float [1]; for ratios of messages members, shares
 * float [messages, targets] (see memberFeeds); for an exact penalty anchor float [targets,
 * vocabulary] (an output of the distribution graph; needs one chunk). Parameters are the trained
 * ones: all, or the factors of the adapter if the architecture has one.
 *
 * Outputs: loss [], logprobs [targets, 1]; `gradient.NAME` of each parameter's shape; for `ppo` kl
 * [], clipped [], effective [] (weight that the clip stops), deviation [] (largest |ratio - 1|), and
 * penalty [] if the loss sets its divergence.
 */
export function buildGradientGraph(config: TransformerConfig, options: TrainingGraphOptions): Graph {
  const g = new Graph('gradient', options.float);
  const parameters = parameterInputs(g, config);
  const { logprobs, scores } = targetLogprobs(g, config, parameters, options);
  const weights = g.floatInput('weights', ['targets', 1]);
  const loss =
    options.loss === 'ppo'
      ? ppoLoss(g, { logprobs, scores }, weights, options.policy ?? {})
      : sumAll(g, mul(g, weights, neg(g, logprobs)));
  g.output('loss', loss);
  g.output('logprobs', logprobs);
  const trained = trainedSpecs(config);
  gradients(
    g,
    loss,
    trained.map(({ name }) => requireParameter(parameters, name)),
  ).forEach((gradient, index) => {
    const spec = trained[index];
    if (spec !== undefined) {
      g.output(gradientName(spec.name), add(g, gradient, g.floatInput(accumulatedName(spec.name), spec.shape)));
    }
  });
  return g;
}

/**
 * Builds AdamW (Loshchilov & Hutter 2019), tensor by tensor, after scaling the gradient to a global
 * norm of at most maxNorm. Inputs, for each trained parameter: NAME, `gradient.NAME`, `momentum.NAME`,
 * `variance.NAME`; learningRate, correction1 = 1 - beta1^t, correction2 = 1 - beta2^t float [1].
 * Outputs: `updated.NAME`, `updated.momentum.NAME`, `updated.variance.NAME`; gradientNorm [1].
 */
export function buildUpdateGraph(
  config: TransformerConfig,
  constants: AdamWConstants,
  float: FloatType = 'float32',
): Graph {
  const trained = trainedSpecs(config);
  const { beta1, beta2, epsilon, weightDecay, maxNorm } = constants;
  const g = new Graph('update', float);
  const gradientOf = new Map(trained.map(({ name, shape }) => [name, g.floatInput(gradientName(name), shape)]));
  const squares = [...gradientOf.values()].map((gradient) => reshape(g, sumOfSquares(g, gradient), [1]));
  const norm = sqrt(
    g,
    sumAll(
      g,
      g.apply({ op: 'Concat', inputs: squares, attributes: { axis: 0 }, dtype: g.float, shape: [squares.length] }),
    ),
  );
  const scale = minimum(g, g.scalar(1), div(g, g.scalar(maxNorm), add(g, norm, g.scalar(1e-6))));
  const rate = g.floatInput('learningRate', [1]);
  const correction1 = g.floatInput('correction1', [1]);
  const correction2 = g.floatInput('correction2', [1]);
  for (const { name, shape } of trained) {
    const parameter = g.floatInput(name, shape);
    const gradient = gradientOf.get(name);
    if (gradient === undefined) {
      continue;
    }
    const scaled = mul(g, gradient, scale);
    const momentum = add(
      g,
      mul(g, g.floatInput(momentumName(name), shape), g.scalar(beta1)),
      mul(g, scaled, g.scalar(1 - beta1)),
    );
    const variance = add(
      g,
      mul(g, g.floatInput(varianceName(name), shape), g.scalar(beta2)),
      mul(g, square(g, scaled), g.scalar(1 - beta2)),
    );
    const direction = div(
      g,
      div(g, momentum, correction1),
      add(g, sqrt(g, div(g, variance, correction2)), g.scalar(epsilon)),
    );
    const decayed = weightDecay === 0 ? direction : add(g, direction, mul(g, parameter, g.scalar(weightDecay)));
    g.output(updatedName(name), sub(g, parameter, mul(g, rate, decayed)));
    g.output(updatedName(momentumName(name)), momentum);
    g.output(updatedName(varianceName(name)), variance);
  }
  g.output('gradientNorm', reshape(g, norm, [1]));
  return g;
}

function sumOfSquares(g: Graph, x: Value): Value {
  return g.apply({ op: 'ReduceSumSquare', inputs: [x], attributes: { keepdims: 0 }, dtype: x.dtype, shape: [] });
}
