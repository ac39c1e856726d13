/** What is known of a model folder, and what running it takes: plain data between engine, command line and editor. */
import type { EndpointCost } from './endpointCost.ts';
import type { TimeEstimate } from './text/times.ts';

/** A model folder as its files describe it; nothing of the weights is loaded for this. */
export interface ModelFacts {
  /** Absolute path. */
  readonly folder: string;
  /** As config.json names it. */
  readonly family: string;
  readonly parameters: number;
  /** What the weights are stored as, the most frequent first. */
  readonly precisions: readonly { readonly dtype: string; readonly parameters: number }[];
  /** Files that hold the weights, and their bytes together. */
  readonly files: number;
  readonly bytes: number;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly vocabularySize: number;
  readonly maxPositions: number;
  readonly tiedEmbeddings: boolean;
  /** How rotary frequencies are changed for long contexts; null where they are not. */
  readonly ropeScaling: string | null;
  /** File of the chat template; null for a model that has none. */
  readonly chatTemplate: string | null;
  /** True where the template can open a reasoning part, which runs leave off unless asked. */
  readonly reasons: boolean;
  /** Texts of the tokens that end a message. */
  readonly endTokens: readonly string[];
}

/** Where memory is taken: the machine's own, or an accelerator's. */
export type MemoryPlace = 'host' | 'device';

/** One thing that takes memory. */
export interface MemoryItem {
  readonly name: string;
  readonly place: MemoryPlace;
  readonly bytes: number;
  /** Which setting makes it smaller, as one sentence; null where none does. */
  readonly advice: string | null;
}

export interface MemoryTotal {
  readonly place: MemoryPlace;
  /** Needed at the same time, at most. */
  readonly bytes: number;
  /** What there is; null where the system does not say. */
  readonly available: number | null;
  /** Null where that is not known. */
  readonly fits: boolean | null;
}

/** What a run will need at most, against what there is. */
export interface MemoryPlan {
  readonly items: readonly MemoryItem[];
  readonly totals: readonly MemoryTotal[];
  /** What to change where it does not fit, the most effective first; empty where it fits. */
  readonly advice: readonly string[];
}

/** One thing that a self-test tried. */
export interface SelfTestStep {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  /** One line: what came out, or why it failed. */
  readonly detail: string;
}

/** What a self-test showed meanwhile: how far loading is, or a step that just ended. */
export type SelfTestProgress =
  | { readonly kind: 'load'; readonly done: number; readonly total: number }
  | { readonly kind: 'step'; readonly step: SelfTestStep };

/** What work costs, at most. */
export interface WorkCost {
  readonly evaluatorCalls: number;
  /** Sampled messages by role, in the order in which the roles speak. */
  readonly decisions: Readonly<Record<string, number>>;
  /** Sampled tokens: every message as long as it may get. */
  readonly tokens: number;
}

/** What a run costs at most, as its configuration bounds it. */
export interface RunBudget {
  /** What the rollout tree of a problem is, at most, in one sentence; absent where there is none. */
  readonly tree?: string;
  /** Of the evaluator calls of a step, those that score answers of votes by themselves; absent where there are none. */
  readonly votes?: number;
  /** How often the team is evaluated, greedily and by sampling each time. */
  readonly evaluations: number;
  readonly steps: number;
  readonly perStep: WorkCost;
  /** One evaluation; a run evaluates before and after training, greedily and by sampling. */
  readonly perEvaluation: WorkCost;
  /** Probes and evaluations before the run begins, where it replaces a policy; absent elsewhere. */
  readonly stage0?: WorkCost;
  readonly total: WorkCost;
  /** What servers that answer for roles are asked at most; absent where none does. */
  readonly endpoints?: readonly EndpointCost[];
}

/** What a run would need and cost. */
export interface RunPlan {
  readonly memory: MemoryPlan;
  readonly budget: RunBudget;
  /** How long it would take; null where that is not known, or where the memory does not suffice. */
  readonly seconds: TimeEstimate | null;
}
