/**
 * A linear value head over hidden states, for MAPPO: V(s) = w . h(s), its loss and its own optimiser. The model under
 * it learns nothing from this.
 */
import { adamwStep, gradientNorm, type AdamWState } from './adamw.ts';
import { ADAMW } from './trainingGraph.ts';

/** The weights w, [hidden], with AdamW's two moments. */
export interface ValueHead extends AdamWState {
  /** Optimiser steps taken. */
  readonly step: number;
}

/** What a value is asked of: the state as the agent who speaks next reads it. */
export interface ValueState {
  readonly agent?: string;
  readonly tokens: Int32Array;
}

/**
 * What followed a state, by its index: the value that it should have, or the advantage A = G - V that was found there,
 * G being the sum of the rewards from it on.
 */
export type ValueExample = { readonly state: number } & ({ readonly target: number } | { readonly advantage: number });

export interface ValueSettings {
  readonly learningRate: number;
  /** Optimiser steps, each over all examples. */
  readonly epochs: number;
  /** How far a value may move from the one before these steps until it learns nothing further. */
  readonly clip: number;
}

/** A head that values everything at 0: a linear layer needs no noise to learn from. */
export const initialValueHead = (hiddenSize: number): ValueHead => ({
  parameters: new Float32Array(hiddenSize),
  momentum: new Float32Array(hiddenSize),
  variance: new Float32Array(hiddenSize),
  step: 0,
});

/** V of a hidden state, summed in float64 in order. */
export function valueOf(weights: Float32Array, hidden: Float32Array): number {
  let value = 0;
  for (let index = 0; index < weights.length; index++) {
    value += (weights[index] ?? 0) * (hidden[index] ?? 0);
  }
  return value;
}

/** A hidden state with its value before the first step and what it should be. */
export interface ValueTarget {
  readonly hidden: Float32Array;
  readonly before: number;
  readonly target: number;
}

/**
 * The clipped value loss (C3 reference section 4.1): the mean of max((V - R)^2, (clip(V, before +- clip) - R)^2) / 2
 * over the targets, with its gradient by the weights.
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
    const value = valueOf(weights, hidden);
    const free = value - target;
    const held = Math.max(before - clip, Math.min(before + clip, value)) - target;
    loss += Math.max(free * free, held * held) / (2 * targets.length);
    // Where the value that was held back is the worse one, moving it on changes nothing.
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
 * Some steps of AdamW, with the constants of the policy's, towards the targets, or the values that the head gives now
 * plus the advantages; the given head stays as it was.
 * @param states hidden states [hidden]
 * @returns the new head, and the loss before the first step
 */
export function learnValueHead(
  head: ValueHead,
  states: readonly Float32Array[],
  examples: readonly ValueExample[],
  { learningRate, epochs, clip }: ValueSettings,
): { readonly head: ValueHead; readonly loss: number } {
  const targets = examples.flatMap((example): ValueTarget[] => {
    const hidden = states[example.state];
    if (hidden === undefined) {
      return [];
    }
    const before = valueOf(head.parameters, hidden);
    return [{ hidden, before, target: 'target' in example ? example.target : before + example.advantage }];
  });
  if (targets.length === 0) {
    return { head, loss: 0 };
  }
  let next: ValueHead = { ...head, momentum: head.momentum.slice(), variance: head.variance.slice() };
  let first = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    const { loss, gradient } = valueLoss(next.parameters, targets, clip);
    if (epoch === 0) {
      first = loss;
    }
    const placed = [{ offset: 0, values: Float32Array.from(gradient) }];
    const step = next.step + 1;
    next = { ...next, parameters: adamwStep(next, placed, gradientNorm(placed), learningRate, step, ADAMW), step };
  }
  return { head: next, loss: first };
}
