/** The input, state and result of an optimizer step. */

import type { AdapterOrigin, PolicyWeights } from '../model/lora.ts';
import type { ModelNumbers } from '../model/model.ts';
import type { PolicyLoss } from './graph/policyLoss.ts';
import type { LossKind } from './graph/trainingGraph.ts';

/** The model that an adapter is trained over. It does not change. */
export interface AdapterBase extends AdapterOrigin {
  readonly model: ModelNumbers;
}

export interface TrainingState {
  /** The base of the adapter that is trained. Undefined if the whole model is trained. */
  readonly adapter?: AdapterBase;
  readonly parameters: Float32Array;
  readonly momentum: Float32Array;
  readonly variance: Float32Array;
  readonly step: number;
}

export interface StepSettings {
  readonly loss: LossKind;
  readonly learningRate: number;
  readonly temperature: number;
  /** Weight of the penalized divergence; unused for supervised training. */
  readonly klCoefficient: number;
  /** The clipping and the penalty of PPO; unused for supervised training. */
  readonly policy?: PolicyLoss;
  /** The snapshot that an exact penalty compares with. */
  readonly anchor?: string;
  /** True to recompute activations in the backward pass. On the CPU no bit changes. */
  readonly recompute?: boolean;
  /** Input slots of one micro-batch; default MICRO_BATCH_TOKENS. */
  readonly microBatchTokens?: number;
}

export interface StepResult {
  readonly state: TrainingState;
  readonly loss: number;
  /** Mean k3 per token, weighted as in the loss; 0 for supervised training, or without a token. */
  readonly kl: number;
  /** Mean per token of the penalized divergence. */
  readonly penalty?: number;
  /** Share of tokens whose ratio left [1 - eps, 1 + eps]. */
  readonly clipFraction: number;
  /** Share of tokens that the clip stopped: the ratio left the range toward their advantage. */
  readonly effectiveClip: number;
  /** Largest |ratio - 1|. */
  readonly ratioDeviation: number;
  readonly gradientNorm: number;
  /** Tokens in the loss. */
  readonly tokens: number;
  /** Share of the input slots that are padding. */
  readonly padding: number;
}

export const initialState = (parameters: Float32Array, adapter?: AdapterBase): TrainingState => ({
  ...(adapter !== undefined && { adapter }),
  parameters,
  momentum: new Float32Array(parameters.length),
  variance: new Float32Array(parameters.length),
  step: 0,
});

export const selectPolicyWeights = ({ adapter, parameters }: TrainingState): PolicyWeights =>
  adapter === undefined ? parameters : { model: adapter.model, adapter: parameters };

/** A step that is not applied yet. The caller calls exactly one of the two functions. */
export interface PreparedStep {
  readonly apply: () => Promise<StepResult>;
  readonly discard: () => void;
}

/** The results of a step before its update. */
export type StepTotals = Omit<StepResult, 'state' | 'gradientNorm'>;
