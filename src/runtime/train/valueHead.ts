/**
 * A linear value head over hidden states, for MAPPO: V(s) = w . h(s), with its loss and its own
 * optimizer, or with a bias and fitted by least squares. The model under it is not trained by it.
 */

import { adamwStep, gradientNorm, type AdamWState } from './adamw.ts';
import { ADAMW } from './graph/trainingGraph.ts';
import {
  fitLeastSquares,
  initialLeastSquares,
  type LeastSquares,
  type LeastSquaresHead,
  type ValueSample,
} from './leastSquares.ts';

/** The weights w, [hidden], with AdamW's two moments. */
export interface GradientHead extends AdamWState {
  readonly kind: 'gradient';
  readonly step: number;
}

export type ValueHead = GradientHead | LeastSquaresHead;

/** A state to value, as the role that speaks next reads it. */
export interface ValueState {
  readonly role?: string;
  readonly tokens: Int32Array;
}

/**
 * A training example for the state with this index: its target value, or the advantage A = G - V that
 * was measured there, with G the sum of the rewards from the state on.
 */
export type ValueExample = { readonly state: number } & ({ readonly target: number } | { readonly advantage: number });

export interface ValueSettings {
  readonly learningRate: number;
  /** Number of optimizer steps, each over all examples. */
  readonly epochs: number;
  /** Largest change of a value, relative to the value before these steps, up to which it still learns. */
  readonly clip: number;
  /** If set, fits the head to all examples so far, and the other settings are ignored. */
  readonly leastSquares?: LeastSquares;
}

export interface ValueReport {
  /** The value loss before training. */
  readonly loss: number;
  /**
   * 1 - variance of R - V / variance of R before training, that is, on examples that the head has not
   * seen. A constant head has 0. Null if all R are equal.
   */
  readonly explainedVariance: number | null;
}

/** Returns a head whose values are 0. A linear layer needs no noise to start from. */
export const initialValueHead = (hiddenSize: number): GradientHead => ({
  kind: 'gradient',
  parameters: new Float32Array(hiddenSize),
  momentum: new Float32Array(hiddenSize),
  variance: new Float32Array(hiddenSize),
  step: 0,
});

/**
 * Returns V of a hidden state, summed in float64 in order.
 * @param weights [hidden], or [hidden + 1] with the bias last
 */
export function computeValue(weights: Float32Array, hidden: Float32Array): number {
  let value = weights.length > hidden.length ? (weights[hidden.length] ?? 0) : 0;
  for (let index = 0; index < hidden.length; index++) {
    value += (weights[index] ?? 0) * (hidden[index] ?? 0);
  }
  return value;
}

/** A sample with its value before the first step. */
export interface ValueTarget extends ValueSample {
  readonly before: number;
}

/**
 * Returns the clipped value loss (C3 reference section 4.1): the mean of max((V - R)^2, (clip(V,
 * before +- clip) - R)^2) / 2 over the targets, and its gradient with respect to the weights.
 * @returns loss and gradient [hidden]; both 0 without targets
 */
export function valueLoss(
  weights: Float32Array,
  targets: readonly ValueTarget[],
  clip: number,
): { readonly loss: number; readonly gradient: Float64Array } {
  const gradient = new Float64Array(weights.length);
  let loss = 0;
  for (const { hidden, before, target } of targets) {
    const value = computeValue(weights, hidden);
    const free = value - target;
    const held = Math.max(before - clip, Math.min(before + clip, value)) - target;
    loss += Math.max(free * free, held * held) / (2 * targets.length);
    // If the clipped value has the larger error, the gradient is 0.
    if (held * held > free * free) {
      continue;
    }
    for (let index = 0; index < gradient.length; index++) {
      gradient[index] = (gradient[index] ?? 0) + (free * (hidden[index] ?? 0)) / targets.length;
    }
  }
  return { loss, gradient };
}

/**
 * Trains a copy of the head. It takes steps of AdamW, with the constants of the policy's optimizer,
 * toward the targets (or the current values plus the advantages), or fits the head to these and the
 * earlier examples by least squares. The given head does not change.
 * @param head of the kind in the settings, or a head that has learned nothing
 * @param states hidden states [hidden]
 * @returns the new head, and a report on the given one
 */
export function learnValueHead(
  head: ValueHead,
  states: readonly Float32Array[],
  examples: readonly ValueExample[],
  settings: ValueSettings,
): ValueReport & { readonly head: ValueHead } {
  const targets = examples.flatMap((example): ValueTarget[] => {
    const hidden = states[example.state];
    if (hidden === undefined) {
      return [];
    }
    const before = computeValue(head.parameters, hidden);
    return [{ hidden, before, target: 'target' in example ? example.target : before + example.advantage }];
  });
  const [first] = targets;
  if (first === undefined) {
    return { head, loss: 0, explainedVariance: null };
  }
  const report = {
    loss: valueLoss(head.parameters, targets, settings.clip).loss,
    explainedVariance: explainedVariance(targets),
  };
  const { leastSquares } = settings;
  if (leastSquares !== undefined) {
    const before = head.kind === 'least squares' ? head : initialLeastSquares(first.hidden.length);
    return { ...report, head: fitLeastSquares(before, targets, leastSquares) };
  }
  const before = head.kind === 'gradient' ? head : initialValueHead(first.hidden.length);
  return { ...report, head: descendGradient(before, targets, settings) };
}

function descendGradient(
  head: GradientHead,
  targets: readonly ValueTarget[],
  { learningRate, epochs, clip }: ValueSettings,
): GradientHead {
  let next: GradientHead = { ...head, momentum: head.momentum.slice(), variance: head.variance.slice() };
  for (let epoch = 0; epoch < epochs; epoch++) {
    const { gradient } = valueLoss(next.parameters, targets, clip);
    const placed = [{ offset: 0, values: Float32Array.from(gradient) }];
    const step = next.step + 1;
    next = { ...next, parameters: adamwStep(next, placed, gradientNorm(placed), learningRate, step, ADAMW), step };
  }
  return next;
}

/** A smaller variance of the returns is only the rounding of value plus advantage. */
const LEAST_VARIANCE = 1e-12;

function explainedVariance(targets: readonly ValueTarget[]): number | null {
  const varianceOf = (values: readonly number[]): number => {
    const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
    return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / values.length;
  };
  const all = varianceOf(targets.map(({ target }) => target));
  return all < LEAST_VARIANCE ? null : 1 - varianceOf(targets.map(({ target, before }) => target - before)) / all;
}
