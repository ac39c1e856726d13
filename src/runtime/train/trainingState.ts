/** What an optimizer step is given, changes and returns. */
import type { AdapterOrigin, PolicyWeights } from '../model/lora.ts';
import type { ModelNumbers } from '../model/model.ts';
import type { PolicyLoss } from './graph/policyLoss.ts';
import type { LossKind } from './graph/trainingGraph.ts';

/** What an adapter is trained over: a model that stays as it is. */
export interface AdapterBase extends AdapterOrigin {
  readonly model: ModelNumbers;
}

/** Everything an optimiser step changes. */
export interface TrainingState {
  /** Whose parameters these are; left out: the whole model's. */
  readonly adapter?: AdapterBase;
  readonly parameters: Float32Array;
  readonly momentum: Float32Array;
  readonly variance: Float32Array;
  /** Optimiser steps taken. */
  readonly step: number;
}

export interface StepSettings {
  readonly loss: LossKind;
  readonly learningRate: number;
  readonly temperature: number;
  /** Weight of the penalized divergence; unused for supervised training. */
  readonly klCoefficient: number;
  /** What PPO clips and penalizes; unused for supervised training. */
  readonly policy?: PolicyLoss;
  /** Of an exact penalty: the snapshot that it is against, whichever policy that is. */
  readonly anchor?: string;
  /** Computes activations again in the backward pass instead of keeping them; on the CPU every bit stays as it is. */
  readonly recompute?: boolean;
  /** Input slots of one micro-batch; MICRO_BATCH_TOKENS unless given. */
  readonly microBatchTokens?: number;
}

export interface StepResult {
  readonly state: TrainingState;
  readonly loss: number;
  /** Mean k3 per token, as much as tokens count in the loss; 0 for supervised training. */
  readonly kl: number;
  /** Mean per token of the divergence that the loss says it penalizes. */
  readonly penalty?: number;
  /** Share of tokens whose ratio left [1 - eps, 1 + eps]. */
  readonly clipFraction: number;
  /** Share of tokens that the clip kept from moving further: their ratio left on the side of their advantage. */
  readonly effectiveClip: number;
  /** Largest |ratio - 1|. */
  readonly ratioDeviation: number;
  readonly gradientNorm: number;
  /** Tokens that the loss counts. */
  readonly tokens: number;
  /** Share of the input slots that held padding. */
  readonly padding: number;
}

export const initialState = (parameters: Float32Array, adapter?: AdapterBase): TrainingState => ({
  ...(adapter !== undefined && { adapter }),
  parameters,
  momentum: new Float32Array(parameters.length),
  variance: new Float32Array(parameters.length),
  step: 0,
});

/** What a policy in training computes with. */
export const weightsOf = ({ adapter, parameters }: TrainingState): PolicyWeights =>
  adapter === undefined ? parameters : { model: adapter.model, adapter: parameters };

/** A step whose gradients are computed and whose update is not made yet. Exactly one of the two follows. */
export interface PreparedStep {
  readonly apply: () => Promise<StepResult>;
  readonly discard: () => void;
}

/** What a step showed before its update. */
export type Totals = Omit<StepResult, 'state' | 'gradientNorm'>;
