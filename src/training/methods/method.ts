/**
 * The interface of a method: an algorithm in three parts. Each method has its own file, with its
 * user-visible texts; methods.ts lists them.
 *
 * A training step, with the policy from the step before:
 *   1. `plan` returns the rollouts for every problem; the run samples, scores and counts them;
 *   2. `credit` returns the credits of all messages of the step; messages and credits are stored in one transaction;
 *   3. `updates` yields, one after another, the updates that learn from the stored messages. Prompts, decoding, loss
 *      and optimizer are the same for all methods (the loss: runtime/train/graph/policyLoss.ts). It may yield
 *      `rollouts` in between: a stage, which is planned and credited as in 1 and 2, with the current policy.
 */

import type { CreditEstimator } from '../../credit/estimators.ts';
import type { Standardization } from '../../credit/standardScore.ts';
import type { PredictedTree } from '../../domain/credit.ts';
import type { MethodState, OwnMeasures, StepMetrics } from '../../domain/step.ts';
import type { TreeMeasureName } from '../../domain/treeMeasures.ts';
import type { JointGrowth } from '../../replay/jointTree.ts';
import type { TreeMessage } from '../../replay/tree.ts';
import type { Vote } from '../../replay/votes.ts';
import type { KlPenalty } from '../../runtime/train/graph/klTerm.ts';
import type { PolicyLoss } from '../../runtime/train/graph/policyLoss.ts';
import type { StepReport } from '../../runtime/train/stepReport.ts';
import type { ValueSettings } from '../../runtime/train/valueHead.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Shape } from '../../team/rounds.ts';
import type { Divergence } from '../divergence.ts';
import type { RunKeys } from '../keys/runKeys.ts';

/** The keys of a run's configuration that methods read. */
export type MethodSettings = Readonly<
  Pick<
    RunKeys,
    | 'steps'
    | 'shape'
    | 'fanout'
    | 'fanout_unique'
    | 'evaluator_budget'
    | 'policies'
    | 'adapter'
    | 'magrpo'
    | 'credit'
    | 'ccpo'
    | 'ppo'
    | 'value_head'
    | 'teamtr'
  >
>;

/** Settings for sampling and crediting the rollout tree of MAGRPO (reference sections 2 to 4). */
export type JointSettings = NonNullable<MethodSettings['magrpo']>;

/** The object of a value: the state before a message, V(s), or the message in its state, q(s, a). */
export type ValueTarget = 'state' | 'message';

/** Variance of the return in the contexts of each position, in order; null if unknown. */
export type Spread = readonly (number | null)[];

/** A tree that a method chose by what earlier steps showed. */
export interface TreeChoice extends PredictedTree {
  /** The variance of returns that the messages of each level cause; null if unknown. */
  readonly variances: readonly number[] | null;
}

/** What earlier steps have left for the plan of a step. The step's own returns are no part of it. */
export interface Earlier {
  /** Variance of the returns in the step before; null if the configuration does not plan by it. */
  readonly spread: Spread | null;
  /** The method's state from the stage or the step before. */
  readonly state: MethodState;
}

/** Trees to grow, one set for every problem of a step. */
export interface Rollout {
  /** Messages sampled per position of the protocol. */
  readonly fanout: readonly number[];
  /** The tree that `fanout` describes; nested by default. */
  readonly shape?: Shape;
  /** The reasons for the tree, if the method chose it. */
  readonly choice?: TreeChoice;
  /** Growth of joint actions, if the tree is one of turns; `fanout` counts its rows. */
  readonly joint?: JointGrowth;
  /** True if replay m of one alternative draws the random numbers of replay m of its siblings. */
  readonly commonRandomNumbers: boolean;
  /** True draws other messages in place of equal ones that end episodes. */
  readonly unique?: boolean;
  /** True for messages that are scored only for `credit` and never learned from. */
  readonly measured?: boolean;
  /**
   * Removes the first role's message: an empty message replaces it, which `fanout` counts like any
   * other. The value says how the second role reads its context then. If absent, the message is kept.
   */
  readonly withoutFirst?: 'bare' | 'empty_plan';
  /** True draws the random numbers of the plan's first rollout, for messages of the same number. */
  readonly sharesDraws?: boolean;
}

/** A step whose messages are sampled and scored. */
export interface SampledStep {
  readonly settings: MethodSettings;
  /** The stage of the step, from 0; each `rollouts` update begins the next one. */
  readonly stage: number;
  /** The trees of each problem that are learned from, as planned. Whole episodes do not branch. */
  readonly problems: readonly (readonly TreeMessage[])[];
  /** The trees that are only measured, in the same order. */
  readonly measured: readonly (readonly TreeMessage[])[];
  /** The method's state from the stage or the step before. */
  readonly state: MethodState;
  /** The tree of the step and the reasons for it, if the method chose it. */
  readonly choice?: TreeChoice;
  /** The value of every message, or of its state; empty if the method has no value target. */
  readonly values: ReadonlyMap<TreeMessage, number>;
  /** The votes that end episodes, by their last messages; absent if the method counts none. */
  readonly votes?: ReadonlyMap<TreeMessage, Vote>;
}

export interface Credited {
  /** Credits by message. A missing message has no credit, and nothing is learned from it. */
  readonly credits: ReadonlyMap<TreeMessage, Credit>;
  /** The method's state after this step; if absent, the state does not change. */
  readonly state?: MethodState;
}

/** A step whose messages and credits are stored. */
export interface LearningStep {
  readonly settings: MethodSettings;
  /** The number of the step, from 1. */
  readonly iteration: number;
  /** The state after `credit` at the beginning of the step. */
  readonly state: MethodState;
  /** The roles of the protocol that learn, in its order. */
  readonly roles: readonly string[];
  /** The nodes of the rollout trees, each after those below it; empty for a method without `byNode`. */
  readonly nodes: readonly string[];
  /**
   * Random numbers in [0, 1) by their position, one stream for each purpose. They are the same whenever
   * the step is executed.
   */
  readonly random: (purpose: string) => (position: number) => number;
}

/** The part of a step that decides which roles its updates teach. */
export type TaughtStep = Omit<LearningStep, 'nodes'>;

/** A part of the contexts of a pass. */
export interface MiniBatch {
  /** The number of the mini-batch, from 0. */
  readonly index: number;
  /** The number of mini-batches in the pass. */
  readonly of: number;
  /** The number of mini-batches to take together, from this one on; 1 by default. */
  readonly count?: number;
  /** Random numbers in [0, 1) by their position: the same for all mini-batches of a pass. */
  readonly draw: (position: number) => number;
}

/**
 * One optimizer step of the policy, or of each role's adapter, on the credited messages of the newest
 * stage. It covers all roles or some, and all messages or a mini-batch.
 */
export interface PolicyUpdate {
  readonly kind: 'policy';
  readonly learningRate: number;
  readonly roles?: readonly string[];
  /** Restricts the update to the messages of one node of a rollout tree. */
  readonly node?: string;
  readonly batch?: MiniBatch;
  /**
   * The unit with equal weight in the loss: with 'sequence', all tokens together weigh as much as the
   * number of messages. By default as configured.
   */
  readonly weight?: 'sequence';
  readonly loss?: Omit<PolicyLoss, 'kl'>;
  /** Weights of episodes by the id of their first message; 1 by default. */
  readonly weights?: ReadonlyMap<number, number>;
  /** The KL penalty; by default the configured one. */
  readonly kl?: KlPenalty;
  /**
   * True makes the loss the mean over messages of the clipped surrogate of each, and of the sum of its
   * tokens' divergences. By default `ppo.loss_weight` decides. Not with k1.
   */
  readonly perMessage?: boolean;
}

/** One action on the stored messages of a step. */
export type Update =
  | PolicyUpdate
  /**
   * Begins the next stage: grows its planned rollouts for the same problems with the current policy, and
   * credits them. Later updates learn from its messages.
   */
  | { readonly kind: 'rollouts' }
  /** Trains the value head on the returns that followed the credited messages. */
  | ({ readonly kind: 'values' } & ValueSettings)
  /**
   * Measures how far all or some roles have moved from the policy that sampled, on all of their contexts
   * or on a part. `exact` also measures over the whole vocabulary, and `ranks` measures probabilities by
   * rank; both need a small vocabulary.
   */
  | {
      readonly kind: 'divergence';
      readonly exact?: boolean;
      readonly ranks?: boolean;
      readonly roles?: readonly string[];
      readonly batch?: MiniBatch;
      /** Weights of episodes for the gain of the surrogate, as in a policy update. */
      readonly weights?: ReadonlyMap<number, number>;
      /** Measures on the first messages of the step instead of those of the newest stage. Not with `exact`. */
      readonly of?: 'first';
    }
  /** Saves the policy and its optimizer, to go back to. */
  | { readonly kind: 'keep' }
  /**
   * Goes back to the saved policy (0), or keeps this share of the change of the parameters since then.
   * Only 0 restores the optimizer too.
   */
  | { readonly kind: 'revert'; readonly share: number }
  /** Ends a step with its own measures and the state for the next step. */
  | { readonly kind: 'finish'; readonly measures: OwnMeasures; readonly state: MethodState };

export interface Outcome {
  /** For `rollouts`: the method's state after its credit. */
  readonly state?: MethodState;
  /** For `policy`. */
  readonly report?: StepReport;
  /** For `divergence`, by role; a role without a credited message is missing. */
  readonly divergence?: ReadonlyMap<string, Divergence>;
}

/** Updates in order. The generator receives each outcome, and ends when the step is done. */
export type Updates = Generator<Update, void, Outcome> | AsyncGenerator<Update, void, Outcome>;

/** A state between steps. It is stored with each step and restored bit for bit. */
export interface StateKind {
  /** Name and version identify the kind: a run does not continue with a state of another kind. */
  readonly name: string;
  readonly version: number;
  readonly initial: (settings: MethodSettings) => MethodState;
}

/** Configuration keys that only some methods read. */
export type MethodKey =
  | 'shape'
  | 'fanout'
  | 'fanout_unique'
  | 'credit.estimator'
  | 'credit.alpha'
  | 'credit.common_random_numbers'
  | 'credit.merge_contexts'
  | 'credit.lone_messages'
  | 'ccpo'
  | 'magrpo'
  | 'value_head'
  | 'teamtr';

export interface MethodWords {
  /** The name that users see. */
  readonly label: string;
  /** A description in whole sentences: the help of the key `method`. */
  readonly help: string;
  /** A description in half a sentence, for the list of methods on a comparison page. */
  readonly summary: string;
  /** Configuration keys that this method reads and not every method does. */
  readonly reads: readonly MethodKey[];
  /** False if the team stays as it is, whatever `steps` is. */
  readonly trains: boolean;
}

export interface Method {
  readonly words: MethodWords;
  /** Returns the kind of state between steps, or null if there is none; absent if there never is. */
  readonly state?: (settings: MethodSettings) => StateKind | null;
  /** The unit of comparison: the messages of one context, or of one role in all episodes of a problem. */
  readonly compared: 'context' | 'problem';
  /** The published scope of scaling, if that is the whole step; by default the compared messages. */
  readonly scaledOver?: 'step';
  /** The standardization of credits into advantages; by default `credit.group_normalise` decides. */
  readonly standardised?: (settings: MethodSettings) => Standardization;
  /** Returns true if a role's messages at one node of a rollout tree are compared and learned together. */
  readonly byNode?: (settings: Pick<MethodSettings, 'magrpo'>) => boolean;
  /** The name under which credits are stored and learned from. */
  readonly estimator: (settings: MethodSettings) => CreditEstimator;
  /** The target of the value head, whose values `credit` receives, or null if there is none. */
  readonly valueTarget: (settings: MethodSettings) => ValueTarget | null;
  /** Returns the reason why it cannot be run with a protocol, in one sentence, or null if it can. */
  readonly fault: (settings: MethodSettings, protocol: Protocol) => string | null;
  /** Remarks on a configuration for a user who compares methods, one sentence each. */
  readonly remarks: (settings: MethodSettings, protocol: Protocol) => readonly string[];
  /** Returns true if its credit counts the votes of a protocol again; absent if it never does. */
  readonly countsVotes?: (protocol: Protocol) => boolean;

  /** The largest number of stages in a step: 1 plus the possible `rollouts` updates. 1 by default. */
  readonly stages?: (settings: MethodSettings, protocol: Protocol) => number;
  /**
   * Returns the rollouts of a stage of a step. `evaluator_budget` counts the evaluator calls of a
   * problem in all stages together, so that methods with stages are compared with others at equal cost.
   * @param earlier absent asks for the rollouts of the first step. If a method chooses their tree, it is
   *   the one with the most messages instead.
   */
  readonly plan: (settings: MethodSettings, protocol: Protocol, stage: number, earlier?: Earlier) => readonly Rollout[];
  readonly credit: (step: SampledStep) => Credited;
  readonly updates: (step: LearningStep) => Updates;
  /** Returns the roles that the updates teach on a stage's messages; absent: all that learn. */
  readonly taught?: (step: TaughtStep, stage: number) => readonly string[];
  /** Returns the measures of the state after `credit`; see STEP_MEASURES. */
  readonly measures?: (state: MethodState, settings: MethodSettings) => MethodMeasures;
}

/** Measures of a step that only some methods have. */
export type MethodMeasures = Pick<
  StepMetrics,
  | 'contribution'
  | 'contributionDeviation'
  | 'jointReturn'
  | 'jointDeviation'
  | 'soloReturn'
  | 'soloDeviation'
  | 'gate'
  | TreeMeasureName
>;

/** Yields every group of siblings of some trees, parents first: the messages that answer one context. */
export function* walkContexts(siblings: readonly TreeMessage[]): Generator<readonly TreeMessage[]> {
  if (siblings.length === 0) {
    return;
  }
  yield siblings;
  for (const { children } of siblings) {
    yield* walkContexts(children);
  }
}

/**
 * Returns the sets of messages that are compared with each other, parents first: siblings, or with
 * `merged` all messages with siblings and the same position and context key, as in C3's Algorithm 1. A
 * message without a sibling stays alone: if it were compared whenever its context came twice, a role
 * would learn in frequent contexts only.
 * @param trees of one problem
 */
export function listComparedMessages(trees: readonly TreeMessage[], merged: boolean): (readonly TreeMessage[])[] {
  const groups = [...walkContexts(trees)];
  if (!merged) {
    return groups;
  }
  const several = groups.filter(({ length }) => length > 1).flat();
  return [...Map.groupBy(several, ({ position, contextKey }) => `${position} ${contextKey}`).values()];
}

/** Yields a message and all that follow it. */
export function* walkEpisode(message: TreeMessage): Generator<TreeMessage> {
  yield message;
  for (const child of message.children) {
    yield* walkEpisode(child);
  }
}
