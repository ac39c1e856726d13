/** Graphs that score and train: forward pass over packed rows, loss, gradients, clipping and AdamW in one ONNX graph. */
import { gradients } from './autodiff.ts';
import { Graph, type FloatType, type Value } from './graph.ts';
import { abs, add, cast, clip, div, equal, exp, lessOrEqual, logicalAnd, logicalOr, minimum, mul, neg, select, sqrt, square, sub } from './ops/elementwise.ts';
import { gatherElements, gatherRows } from './ops/gather.ts';
import { logSoftmax } from './ops/normalise.ts';
import { maxAll, sumAll } from './ops/reduce.ts';
import { reshape, unsqueeze } from './ops/shape.ts';
import { forward, logits, parameterInputs, type Parameters, type TransformerConfig } from './transformer.ts';

/** PPO clip range epsilon (C3 Appendix D) and the bound on log-ratios of the KL term. */
export const CLIP_EPSILON = 0.2;
const LOG_RATIO_BOUND = 10;
const MASKED = -1e9;

export type LossKind = 'ppo' | 'supervised';

/** Optimiser constants that are part of the graph. */
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

export interface TrainingGraphOptions {
  readonly loss: LossKind;
  /** Adds the gradients of earlier micro-batches, given as input `accumulated`. */
  readonly accumulate: boolean;
  /** With `update`, ends in new parameters and optimiser state; otherwise in the output `gradient`. */
  readonly update: boolean;
  readonly adamw: AdamWConstants;
  readonly float?: FloatType;
}

/**
 * Log-probabilities of target tokens in packed rows.
 * Inputs: tokens, positions, segments int64 [rows, time]; slots int64 [time] = 0, 1, ...; selected int64 [targets] (flat index of the position that predicts);
 * targets int64 [targets, 1]; temperature float [1].
 * A position sees the earlier positions of its row that belong to segment 0 (the shared context) or to its own segment.
 * @returns [targets, 1]: log softmax(logits / temperature) at the target
 */
function targetLogprobs(g: Graph, config: TransformerConfig, parameters: Parameters): Value {
  const tokens = g.input('tokens', 'int64', ['rows', 'time']);
  const positions = g.input('positions', 'int64', ['rows', 'time']);
  const segments = g.input('segments', 'int64', ['rows', 'time']);
  const { hidden } = forward(g, config, parameters, { tokens, positions, bias: packedBias(g, segments, g.input('slots', 'int64', ['time'])) });
  const selected = g.input('selected', 'int64', ['targets']);
  const rows = gatherRows(g, reshape(g, hidden, ['positions', config.hiddenSize]), selected);
  const temperature = g.floatInput('temperature', [1]);
  return gatherElements(g, logSoftmax(g, div(g, logits(g, config, parameters, rows), temperature)), g.input('targets', 'int64', ['targets', 1]));
}

/** [rows, 1, time, time]: 0 where position i may see position j, MASKED elsewhere. `slots` is 0, 1, ... time - 1. */
export function packedBias(g: Graph, segments: Value, slots: Value): Value {
  const earlier = lessOrEqual(g, unsqueeze(g, slots, [0]), unsqueeze(g, slots, [1]));
  const column = unsqueeze(g, segments, [1, 2]);
  const shared = logicalOr(g, equal(g, column, g.ints([0], [])), equal(g, column, unsqueeze(g, segments, [1, 3])));
  return select(g, logicalAnd(g, unsqueeze(g, earlier, [0, 1]), shared), g.scalar(0), g.scalar(MASKED));
}

/** Scores target tokens: output `logprobs` [targets, 1]. */
export function buildScoreGraph(config: TransformerConfig, float: FloatType = 'float32'): Graph {
  const g = new Graph('score', float);
  g.output('logprobs', targetLogprobs(g, config, parameterInputs(g, config)));
  return g;
}

/**
 * One training micro-batch.
 *
 * Inputs beside those of the score graph: weights float [targets, 1] (what each token counts in the mean);
 * for `ppo` also advantages, behaviour, reference float [targets, 1] and klCoefficient float [1];
 * with `accumulate` accumulated float [parameters]; with `update` parametersFlat, momentum, variance float [parameters] and
 * learningRate, correction1 = 1 - beta1^t, correction2 = 1 - beta2^t float [1].
 * Parameters are also given one by one, as graphParameterSpecs names them: views on the same flat vector.
 *
 * Outputs: loss [], logprobs [targets, 1]; for `ppo` kl [], clipped [], deviation [] (largest |ratio - 1|);
 * `gradient` [parameters], or with `update` newParameters, newMomentum, newVariance [parameters] and gradientNorm [].
 */
export function buildTrainingGraph(config: TransformerConfig, options: TrainingGraphOptions): Graph {
  const g = new Graph('train', options.float);
  const parameters = parameterInputs(g, config);
  const logprobs = targetLogprobs(g, config, parameters);
  const weights = g.floatInput('weights', ['targets', 1]);
  const loss = options.loss === 'ppo' ? ppoLoss(g, logprobs, weights) : sumAll(g, mul(g, weights, neg(g, logprobs)));
  g.output('loss', loss);
  g.output('logprobs', logprobs);
  const own = flatten(g, gradients(g, loss, [...parameters.values()]));
  const gradient = options.accumulate ? add(g, own, g.floatInput('accumulated', own.shape)) : own;
  if (options.update) appendAdamW(g, gradient, options.adamw);
  else g.output('gradient', gradient);
  return g;
}

/**
 * Token-level PPO: weighted sum of -min(r A, clip(r, 1 - eps, 1 + eps) A) + beta k3, with r = exp(logp - behaviour) and
 * k3 = exp(d) - d - 1, d = reference - logp cut to +-10 (Schulman's low-variance estimator of KL(policy || reference)).
 */
function ppoLoss(g: Graph, logprobs: Value, weights: Value): Value {
  const column = ['targets', 1] as const;
  const advantages = g.floatInput('advantages', column);
  const ratio = exp(g, sub(g, logprobs, g.floatInput('behaviour', column)));
  const clippedRatio = clip(g, ratio, 1 - CLIP_EPSILON, 1 + CLIP_EPSILON);
  const surrogate = neg(g, minimum(g, mul(g, ratio, advantages), mul(g, clippedRatio, advantages)));
  const difference = clip(g, sub(g, g.floatInput('reference', column), logprobs), -LOG_RATIO_BOUND, LOG_RATIO_BOUND);
  const k3 = sub(g, sub(g, exp(g, difference), difference), g.scalar(1));
  const penalty = mul(g, g.floatInput('klCoefficient', [1]), k3);
  g.output('kl', sumAll(g, mul(g, weights, k3)));
  g.output('deviation', maxAll(g, abs(g, sub(g, ratio, g.scalar(1)))));
  g.output('clipped', sumAll(g, mul(g, weights, sub(g, g.scalar(1), cast(g, equal(g, ratio, clippedRatio), g.float)))));
  return sumAll(g, mul(g, weights, add(g, surrogate, penalty)));
}

/** All gradients as one vector, in the order of the parameters. */
function flatten(g: Graph, parts: readonly Value[]): Value {
  const sizes = parts.map((part) => part.shape.reduce<number>((product, dim) => product * Number(dim), 1));
  return g.apply({
    op: 'Concat',
    inputs: parts.map((part, index) => reshape(g, part, [sizes[index] ?? 0])),
    attributes: { axis: 0 },
    dtype: g.float,
    shape: [sizes.reduce((a, b) => a + b, 0)],
  });
}

/** AdamW (Loshchilov & Hutter) after scaling the gradient to a global norm of at most maxNorm. */
function appendAdamW(g: Graph, gradient: Value, constants: AdamWConstants): void {
  const { beta1, beta2, epsilon, weightDecay, maxNorm } = constants;
  const vector = (name: string): Value => g.floatInput(name, gradient.shape);
  const norm = sqrt(g, sumAll(g, square(g, gradient)));
  const scale = minimum(g, g.scalar(1), div(g, g.scalar(maxNorm), add(g, norm, g.scalar(1e-6))));
  const scaled = mul(g, gradient, scale);
  const parameters = vector('parametersFlat');
  const momentum = add(g, mul(g, vector('momentum'), g.scalar(beta1)), mul(g, scaled, g.scalar(1 - beta1)));
  const variance = add(g, mul(g, vector('variance'), g.scalar(beta2)), mul(g, square(g, scaled), g.scalar(1 - beta2)));
  const rate = g.floatInput('learningRate', [1]);
  const direction = div(g, div(g, momentum, g.floatInput('correction1', [1])), add(g, sqrt(g, div(g, variance, g.floatInput('correction2', [1]))), g.scalar(epsilon)));
  const decayed = weightDecay === 0 ? direction : add(g, direction, mul(g, parameters, g.scalar(weightDecay)));
  g.output('newParameters', sub(g, parameters, mul(g, rate, decayed)));
  g.output('newMomentum', momentum);
  g.output('newVariance', variance);
  g.output('gradientNorm', norm);
}
