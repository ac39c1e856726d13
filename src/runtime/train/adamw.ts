/**
 * AdamW in ordinary memory: one pass over the state, in place. An accelerator runs the same step as a
 * graph (buildUpdateGraph).
 */

import type { AdamWConstants } from './graph/trainingGraph.ts';

/** The gradient of a parameter, and its offset in the flat vectors. */
export interface PlacedGradient {
  readonly offset: number;
  readonly values: Float32Array;
}

export interface AdamWState {
  readonly parameters: Float32Array;
  readonly momentum: Float32Array;
  readonly variance: Float32Array;
}

/** Returns the norm of all gradients together, in float64. */
export function gradientNorm(gradients: readonly PlacedGradient[]): number {
  let squares = 0;
  for (const { values } of gradients) {
    for (let index = 0; index < values.length; index++) {
      const value = values[index] ?? 0;
      squares += value * value;
    }
  }
  return Math.sqrt(squares);
}

/**
 * Does one step (Loshchilov & Hutter 2019), with gradients scaled to a global norm of at most
 * maxNorm. Momentum and variance change in place. Every number is computed in float64 and stored in
 * float32.
 * @param norm of the gradients
 * @param t the number of this step, from 1
 * @returns the new parameters, in a new array
 */
export function adamwStep(
  state: AdamWState,
  gradients: readonly PlacedGradient[],
  norm: number,
  learningRate: number,
  t: number,
  constants: AdamWConstants,
): Float32Array {
  const { beta1, beta2, epsilon, weightDecay, maxNorm } = constants;
  const { parameters, momentum, variance } = state;
  const scale = Math.min(1, maxNorm / (norm + 1e-6));
  const stride = learningRate / (1 - beta1 ** t);
  const root = 1 / Math.sqrt(1 - beta2 ** t);
  const decay = learningRate * weightDecay;
  const updated = new Float32Array(parameters.length);
  for (const { offset, values } of gradients) {
    for (let index = 0; index < values.length; index++) {
      const place = offset + index;
      const gradient = (values[index] ?? 0) * scale;
      const first = beta1 * (momentum[place] ?? 0) + (1 - beta1) * gradient;
      const second = beta2 * (variance[place] ?? 0) + (1 - beta2) * gradient * gradient;
      const old = parameters[place] ?? 0;
      momentum[place] = first;
      variance[place] = second;
      updated[place] = old - (stride * first) / (Math.sqrt(second) * root + epsilon) - decay * old;
    }
  }
  return updated;
}
