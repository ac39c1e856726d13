/** Facts about a model folder, and the resources for running it: plain data for engine, command line and editor. */

import type { EndpointCost } from './endpointCost.ts';
import type { TimeEstimate } from './text/times.ts';

/** A model folder as its files describe it; no weights are loaded. */
export interface ModelFacts {
  /** Absolute path. */
  readonly folder: string;
  /** As named in config.json. */
  readonly family: string;
  readonly parameters: number;
  /** Stored data types of the weights, the most frequent first. */
  readonly precisions: readonly { readonly dtype: string; readonly parameters: number }[];
  /** Number of files that hold the weights; `bytes` is their total size. */
  readonly files: number;
  readonly bytes: number;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly vocabularySize: number;
  readonly maxPositions: number;
  readonly tiedEmbeddings: boolean;
  /** The scaling of rotary frequencies for long contexts, or null if there is none. */
  readonly ropeScaling: string | null;
  /** File of the chat template, or null if the model has none. */
  readonly chatTemplate: string | null;
  /** True if the template can open a reasoning part, which runs leave off by default. */
  readonly reasons: boolean;
  /** Texts of the tokens that end a message. */
  readonly endTokens: readonly string[];
}

/** The memory in question: the machine's own, or an accelerator's. */
export type MemoryPlace = 'host' | 'device';

/** One use of memory. */
export interface MemoryItem {
  readonly name: string;
  readonly place: MemoryPlace;
  readonly bytes: number;
  /** The setting that reduces it, as one sentence; null if there is none. */
  readonly advice: string | null;
}

export interface MemoryTotal {
  readonly place: MemoryPlace;
  /** Largest memory that is needed at the same time. */
  readonly bytes: number;
  /** Available memory, or null if the system does not report it. */
  readonly available: number | null;
  /** Null if it is unknown. */
  readonly fits: boolean | null;
}

/** The largest memory that a run needs, compared with the available memory. */
export interface MemoryPlan {
  readonly items: readonly MemoryItem[];
  readonly totals: readonly MemoryTotal[];
  /** Changes that help if it does not fit, the most effective first; empty if it fits. */
  readonly advice: readonly string[];
}

/** One step of a self-test. */
export interface SelfTestStep {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  /** One line: the result, or the reason of the failure. */
  readonly detail: string;
}

/** Progress of a self-test: of loading, or a step that just ended. */
export type SelfTestProgress =
  | { readonly kind: 'load'; readonly done: number; readonly total: number }
  | { readonly kind: 'step'; readonly step: SelfTestStep };

/** Upper bounds of the cost of work. */
export interface WorkCost {
  readonly evaluatorCalls: number;
  /** Sampled messages by role, in the order in which the roles speak. */
  readonly decisions: Readonly<Record<string, number>>;
  /** Sampled tokens if every message has its greatest length. */
  readonly tokens: number;
}

/** Upper bounds of the cost of a run by its configuration. */
export interface RunBudget {
  /** The largest rollout tree of a problem, in one sentence; absent if there is none. */
  readonly tree?: string;
  /**
   * Calls of a step that score answers of votes by themselves, included in its evaluator calls; absent
   * if there are none.
   */
  readonly votes?: number;
  /** Number of evaluations of the team, each greedy and by sampling. */
  readonly evaluations: number;
  readonly steps: number;
  readonly perStep: WorkCost;
  /** One evaluation; a run evaluates before and after training, greedily and by sampling. */
  readonly perEvaluation: WorkCost;
  /** Probes and evaluations before a run that replaces a policy; absent for other runs. */
  readonly stage0?: WorkCost;
  readonly total: WorkCost;
  /** Upper bounds for the servers that answer for roles; absent if there are none. */
  readonly endpoints?: readonly EndpointCost[];
}

/** The memory, cost and time of a run. */
export interface RunPlan {
  readonly memory: MemoryPlan;
  readonly budget: RunBudget;
  /** Estimated time; null if it is unknown or the memory does not suffice. */
  readonly seconds: TimeEstimate | null;
}
